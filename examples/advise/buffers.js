// One buffer of 256 MiB, filled once and read in scattered order.
const words = new Uint32Array(64 << 20);
for (let i = 0; i < words.length; i++) words[i] = i;
let at = 1, sum = 0;
for (let i = 0; i < 8_000_000; i++) {
  at = (Math.imul(at, 1664525) + 1013904223) >>> 0;
  sum = (sum + words[at >>> 6]) >>> 0;
}
console.log(sum);
