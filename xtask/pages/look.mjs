// Opens pages in Chromium and Firefox. Each page must write nothing to the console, ask for nothing
// but itself, need no script, fit the window and the paper, have no text in a figure that is cut or
// lies on other text, be used with the keyboard alone, show its answer on the first screen, and pass
// the rules of axe-core.
//
//   node look.mjs FOLDER PAGE...
//
// FOLDER has the packages puppeteer-core and axe-core in node_modules; pictures and prints are put
// into FOLDER/pictures. A browser that is not installed is skipped with a line that says so.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...pages] = process.argv.slice(2);
const require = createRequire(path.resolve(folder, "packages.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const pictures = path.join(folder, "pictures");
const HEIGHT = 900;
const WIDTHS = [360, 800, 1280];
// A4 with margins of a centimetre, at 96 pixels an inch.
const PAPER = { width: 718, height: 1047 };
// More stops of the Tab key than a page has.
const MOST_STOPS = 400;
const BROWSERS = [
  { browser: "chrome", executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] },
  { browser: "firefox", executablePath: "/usr/bin/firefox-esr", args: [] },
];
const wrong = [];

// What a page does wrong at the width of its window.
function faults() {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) found.push(`is ${root.scrollWidth} pixels wide, not ${innerWidth}`);
  for (const figure of document.querySelectorAll("svg.figure")) {
    const room = figure.getBoundingClientRect();
    const texts = [...figure.querySelectorAll("text")].filter((it) => it.textContent.trim());
    const boxes = texts.map((it) => it.getBoundingClientRect());
    boxes.forEach((box, index) => {
      const text = texts[index].textContent;
      const over = Math.max(room.left - box.left, box.right - room.right, box.bottom - room.bottom);
      if (over > 2) found.push(`cuts "${text}" by ${over.toFixed(1)} pixels`);
      for (let other = index + 1; other < boxes.length; other += 1) {
        const across = Math.min(box.right, boxes[other].right) - Math.max(box.left, boxes[other].left);
        const down = Math.min(box.bottom, boxes[other].bottom) - Math.max(box.top, boxes[other].top);
        if (across > 1 && down > 0.35 * box.height) found.push(`lays "${text}" on "${texts[other].textContent}"`);
      }
    });
  }
  return found;
}

async function breaches(tab) {
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => window.axe.run());
  const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
  return serious.map((it) => `breaks ${it.id}: ${it.nodes[0].target} (${it.nodes.length} times)`);
}

// Details must open by a click where scripts are off.
async function opensWithoutScripts(tab, url) {
  await tab.setJavaScriptEnabled(false);
  await tab.goto(url);
  await tab.click("summary");
  const open = await tab.$("details[open]");
  await tab.setJavaScriptEnabled(true);
  return open !== null;
}

// The first section has the answer: all of it must be seen before anything is moved.
function belowFirstScreen() {
  const answer = document.querySelector("main > section").getBoundingClientRect();
  return answer.bottom + scrollY > innerHeight ? [`ends its answer at ${answer.bottom} of ${innerHeight} pixels`] : [];
}

// What the Tab key does not come to, what has no frame when it does, and details that Enter does not
// open.
async function lostToKeys(tab) {
  const lost = [];
  // First: after the last stop, Tab leaves the page.
  await tab.focus("summary");
  await tab.keyboard.press("Enter");
  const opened = tab.waitForSelector("details[open]", { timeout: 2000 });
  await opened.catch(() => lost.push("opens no details with Enter"));
  await tab.reload();
  await tab.evaluate(() => {
    const reached = "a[href], summary, [tabindex='0']";
    const seen = [...document.querySelectorAll(reached)].filter((it) => it.checkVisibility());
    seen.forEach((it, index) => (it.dataset.stop = index));
  });
  for (let stop = 0; stop < MOST_STOPS; stop += 1) {
    await tab.keyboard.press("Tab");
    const bare = await tab.evaluate(() => {
      const here = document.activeElement;
      if (here === document.body || here.dataset.reached) return "end";
      here.dataset.reached = "yes";
      return getComputedStyle(here).outlineStyle === "none" ? here.outerHTML.slice(0, 80) : "";
    });
    if (bare === "end") break;
    if (bare) lost.push(`shows no frame around ${bare}`);
  }
  const missed = await tab.$$eval("[data-stop]:not([data-reached])", (all) => all.map((it) => it.outerHTML.slice(0, 80)));
  missed.forEach((it) => lost.push(`cannot be reached with Tab: ${it}`));
  await tab.reload();
  return lost;
}

// As it is printed, with all details open: they are the widest.
async function print(tab, file) {
  await tab.emulateMediaType("print");
  await tab.setViewport(PAPER);
  await tab.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
  const found = await tab.evaluate(faults);
  await tab.emulateMediaType("screen");
  await tab.pdf({ path: file, format: "A4" });
  return found;
}

async function look(browser, name, file) {
  const url = pathToFileURL(path.resolve(file)).href;
  const page = path.basename(file, ".html");
  const blame = (what) => wrong.push(`${name}: ${page} ${what}`);
  const tab = await browser.newPage();
  tab.on("console", (it) => blame(`writes to the console: ${it.text()}`));
  tab.on("pageerror", (it) => blame(`fails: ${it}`));
  tab.on("request", (it) => {
    if (it.url() !== url && !it.url().startsWith("data:")) blame(`asks for ${it.url()}`);
  });
  await tab.goto(url);
  for (const width of WIDTHS) {
    await tab.setViewport({ width, height: HEIGHT });
    (await tab.evaluate(faults)).forEach((it) => blame(`at ${width} ${it}`));
    await tab.screenshot({ path: path.join(pictures, `${page}-${name}-${width}.png`), fullPage: true });
  }
  (await tab.evaluate(belowFirstScreen)).forEach(blame);
  (await breaches(tab)).forEach(blame);
  (await lostToKeys(tab)).forEach(blame);
  if (name === "chrome") {
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    await tab.setViewport({ width: 800, height: HEIGHT });
    (await breaches(tab)).forEach((it) => blame(`in the dark ${it}`));
    await tab.screenshot({ path: path.join(pictures, `${page}-${name}-dark.png`), fullPage: true });
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
    (await print(tab, path.join(pictures, `${page}.pdf`))).forEach((it) => blame(`on paper ${it}`));
    if (!(await opensWithoutScripts(tab, url))) blame("needs scripts");
  }
  await tab.close();
}

mkdirSync(pictures, { recursive: true });
for (const how of BROWSERS) {
  if (!existsSync(how.executablePath)) {
    console.log(`skipped: ${how.executablePath} is not installed`);
    continue;
  }
  const browser = await puppeteer.launch({ ...how, headless: true });
  for (const file of pages) await look(browser, how.browser, file);
  console.log(`${await browser.version()}: ${pages.length} pages`);
  await browser.close();
}
for (const what of wrong) console.error(what);
process.exit(wrong.length > 0 ? 1 : 0);
