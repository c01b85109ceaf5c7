// Many objects that live for a while, and text, in the old JavaScript that Node 6 takes: a server's kind of memory.
const live = new Map();
let state = 1, sum = 0;
for (let i = 0; i < 1500000; i++) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  const key = state % 150000;
  const was = live.get(key);
  if (was) sum += was.text.length + was.list.length;
  live.set(key, { key: key, text: "value-" + i + "-" + state, list: [i, state, key] });
}
console.log(sum, live.size);
