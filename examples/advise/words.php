<?php
// Work that spreads over the interpreter: strings, patterns, arrays, JSON, sorting, objects and hashes.
final class Entry {
    public function __construct(public string $word, public int $count) {}
}

$state = 1;
$seen = [];
for ($nth = 0; $nth < 180000; $nth++) {
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    $word = base_convert((string) ($state % 40000), 10, 36);
    $line = sprintf('%s-%05d %s', strtoupper($word), $nth, md5($word));
    if (preg_match('/^([A-Z0-9]+)-(\d+) ([0-9a-f]{8})/', $line, $parts)) {
        $seen[$parts[1]] = ($seen[$parts[1]] ?? 0) + (int) $parts[2] % 7;
    }
    $data = json_decode(json_encode(['w' => $word, 'n' => [$nth, $nth * 2], 's' => str_split($line, 9)]), true);
    $seen[$data['w']] = count(array_filter(array_map('strrev', $data['s']), fn($part) => $part > 'a'));
}
$entries = [];
foreach ($seen as $word => $count) $entries[] = new Entry((string) $word, $count);
usort($entries, fn($one, $other) => [$one->count, $one->word] <=> [$other->count, $other->word]);
echo count($entries), ' ', crc32(serialize($entries)), "\n";
