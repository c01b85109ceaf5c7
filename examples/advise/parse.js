// Much code and little memory: objects to text and back.
let length = 0;
for (let i = 0; i < 60_000; i++) {
  const text = JSON.stringify({ i, list: [i, i + 1, String(i)], nested: { a: i % 7, b: `x${i}` } });
  length += Object.keys(JSON.parse(text)).length + text.replace(/\d+/g, "#").length;
}
console.log(length);
