//! A flame graph as one self-contained SVG file. It can be zoomed and searched if scripts are allowed.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::sentences::{duration, share};
use super::stacks::Weigh;
use hugewise_text::figure::Figure;
use hugewise_text::grid::Grid;
use hugewise_text::number::counted;
use hugewise_text::{svg, xml_escaped};

/// Width of the stand-alone drawing, in SVG units.
const WIDTH: f64 = 1200.0;
/// Height of a function's box.
const ROW: f64 = 17.0;
/// Space for the title above the graph.
const TOP: f64 = 44.0;
/// Narrower boxes are omitted, because they would be invisible. A page cannot be zoomed into.
const NARROWEST: f64 = 0.3;
const NARROWEST_OF_PAGE: f64 = 2.0;
/// Functions in the table below the graph.
const ROWS: usize = 40;
/// Average width of a character.
const CHARACTER: f64 = 6.6;

/// A function called from its parent node.
#[derive(Default)]
struct Node {
    weight: u64,
    callees: BTreeMap<String, Self>,
}

/// Draws call chains as a flame graph, the outermost functions at the bottom.
#[must_use]
pub fn render_flame(folded: &BTreeMap<String, u64>, title: &str, weigh: Weigh) -> String {
    let root = tree(folded);
    let depth = deepest(&root, 1);
    let height = TOP + ROW * depth as f64 + 8.0;
    let mut svg = String::new();
    head(&mut svg, height, title);
    let mut artist = Artist {
        svg: &mut svg,
        width: WIDTH,
        narrowest: NARROWEST,
        height,
        whole: root.weight.max(1),
        weigh,
    };
    artist.draw("all", &root, 0.0, 0);
    svg.push_str("</g>\n");
    let _ = write!(svg, "<script><![CDATA[{SCRIPT}]]></script>\n</svg>\n");
    svg
}

/// Draws the graph for a page, with a table of the functions.
#[must_use]
pub(super) fn figure(folded: &BTreeMap<String, u64>, weigh: Weigh) -> Option<Figure> {
    let root = tree(folded);
    if root.weight == 0 {
        return None;
    }
    let narrowest = NARROWEST_OF_PAGE / svg::WIDTH * root.weight as f64;
    let height = ROW * deepest(&root, narrowest.ceil() as u64) as f64 + 8.0;
    let mut boxes = String::new();
    let mut artist = Artist {
        svg: &mut boxes,
        width: svg::WIDTH,
        narrowest: NARROWEST_OF_PAGE,
        height,
        whole: root.weight,
        weigh,
    };
    artist.draw("all", &root, 0.0, 0);
    let title = "Where page faults come from";
    Some(Figure {
        id: "flame".to_owned(),
        title: title.to_owned(),
        caption: "A box is a function and stands on its caller; the wider it is, the more it and \
                  its callees weigh. Rest the pointer on it for its name."
            .to_owned(),
        svg: format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure flame\" \
             viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"{title}\">\n{boxes}</svg>\n",
            svg::WIDTH
        ),
        table: table(&root, weigh),
    })
}

/// Returns the heaviest functions, each once: weight with callees, and self weight.
fn table(root: &Node, weigh: Weigh) -> Grid {
    let mut functions = BTreeMap::new();
    root.add_to(&mut functions, &mut Vec::new());
    let mut rows: Vec<(&str, (u64, u64))> = functions.into_iter().collect();
    rows.sort_by_key(|(_, sums)| std::cmp::Reverse(*sums));
    let heads = ["function", "with callees", "alone", "share"];
    let mut grid = Grid::headed(&heads);
    for (name, (inclusive, own)) in rows.into_iter().take(ROWS) {
        grid.push([
            name.to_owned(),
            weigh.text(inclusive),
            weigh.text(own),
            share(inclusive, root.weight),
        ]);
    }
    grid
}

impl Node {
    /// Adds the weight of every function: the self weight, and the weight with callees unless the same function is
    /// among its callers.
    fn add_to<'a>(&'a self, sums: &mut BTreeMap<&'a str, (u64, u64)>, callers: &mut Vec<&'a str>) {
        for (name, callee) in &self.callees {
            let below: u64 = callee.callees.values().map(|node| node.weight).sum();
            let sum = sums.entry(name).or_default();
            if !callers.contains(&name.as_str()) {
                sum.0 += callee.weight;
            }
            sum.1 += callee.weight.saturating_sub(below);
            callers.push(name);
            callee.add_to(sums, callers);
            callers.pop();
        }
    }
}

impl Weigh {
    /// Formats a weight.
    fn text(self, weight: u64) -> String {
        match self {
            Self::Time => duration(weight),
            Self::Faults => counted(weight, "fault"),
        }
    }
}

fn tree(folded: &BTreeMap<String, u64>) -> Node {
    let mut root = Node::default();
    for (chain, &weight) in folded {
        root.weight += weight;
        let mut node = &mut root;
        for function in chain.split(';') {
            node = node.callees.entry(function.to_owned()).or_default();
            node.weight += weight;
        }
    }
    root
}

/// Returns the depth of the deepest stack of functions that have at least this weight.
fn deepest(node: &Node, least: u64) -> usize {
    let callees = node.callees.values().filter(|it| it.weight >= least);
    1 + callees.map(|it| deepest(it, least)).max().unwrap_or(0)
}

fn head(svg: &mut String, height: f64, title: &str) {
    let title = xml_escaped(title);
    let _ = write!(
        svg,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"11\">\n\
         <title>{title}</title>\n\
         <style>svg{{background:#fff}}.f{{cursor:pointer}}.f:hover rect{{stroke:#000}}\
         .found rect{{fill:#96f}}text{{pointer-events:none}}#search,#back{{pointer-events:auto;\
         cursor:pointer}}</style>\n\
         <text x=\"{}\" y=\"18\" text-anchor=\"middle\" font-size=\"15\">{title}</text>\n\
         <text id=\"back\" x=\"8\" y=\"36\" visibility=\"hidden\">whole graph</text>\n\
         <text id=\"search\" x=\"{}\" y=\"36\" text-anchor=\"end\">search</text>\n\
         <text id=\"said\" x=\"{}\" y=\"36\" text-anchor=\"middle\"></text>\n<g>\n",
        WIDTH / 2.0,
        WIDTH - 8.0,
        WIDTH / 2.0,
    );
}

struct Artist<'a> {
    svg: &'a mut String,
    width: f64,
    narrowest: f64,
    height: f64,
    whole: u64,
    weigh: Weigh,
}

impl Artist<'_> {
    fn draw(&mut self, name: &str, node: &Node, x: f64, depth: usize) {
        #[expect(clippy::cast_precision_loss, reason = "a drawing")]
        let width = node.weight as f64 / self.whole as f64 * self.width;
        if width < self.narrowest {
            return;
        }
        self.draw_box(name, node.weight, x, width, depth);
        let mut x = x;
        for (name, callee) in &node.callees {
            self.draw(name, callee, x, depth + 1);
            #[expect(clippy::cast_precision_loss, reason = "a drawing")]
            let taken = callee.weight as f64 / self.whole as f64 * self.width;
            x += taken;
        }
    }

    fn draw_box(&mut self, name: &str, weight: u64, x: f64, width: f64, depth: usize) {
        let y = self.height - 8.0 - ROW * (depth as f64 + 1.0);
        let weighed = self.weigh.text(weight);
        let share = share(weight, self.whole);
        let full = xml_escaped(name);
        let _ = writeln!(
            self.svg,
            "<g class=\"f\"><title>{full}: {weighed}, {share}</title><rect x=\"{x:.2}\" \
             y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" rx=\"2\" fill=\"{}\"/>\
             <text x=\"{:.2}\" y=\"{:.1}\" data-n=\"{full}\">{}</text></g>",
            ROW - 1.0,
            colour(name),
            x + 3.0,
            y + 12.0,
            xml_escaped(&fitting(name, width)),
        );
    }
}

/// Truncates a name to the width of a box.
fn fitting(name: &str, width: f64) -> String {
    let fits = name.chars().count() as f64 * CHARACTER + 6.0 <= width;
    if fits {
        return name.to_owned();
    }
    // At least two letters and the dots.
    let room = (width - 6.0) / CHARACTER - 2.0;
    if room < 2.0 {
        return String::new();
    }
    let mut text = String::new();
    for letter in name.chars() {
        if text.chars().count() as f64 + 1.0 > room {
            break;
        }
        text.push(letter);
    }
    text + ".."
}

/// A warm colour, derived from the name (FNV-1a), so it is the same in every drawing.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let part = |shift: u32, range: u64| hash >> shift & 0xff_ffff & (range - 1);
    format!(
        "rgb({},{},{})",
        200 + part(8, 32),
        96 + part(20, 128),
        part(32, 64)
    )
}

/// Zoom by click, search by regular expression.
const SCRIPT: &str = r#"
(function () {
  var all = Array.from(document.querySelectorAll(".f")).map(function (g) {
    var r = g.querySelector("rect"), n = function (a) { return parseFloat(r.getAttribute(a)); };
    return { g: g, r: r, t: g.querySelector("text"), x: n("x"), w: n("width"), y: n("y") };
  });
  var W = 1200, back = document.getElementById("back"), said = document.getElementById("said");
  function label(b, w) {
    var s = b.t.getAttribute("data-n"), room = Math.floor((w - 6) / 6.6);
    b.t.textContent = s.length <= room ? s : room < 4 ? "" : s.slice(0, room - 2) + "..";
  }
  function zoom(to) {
    all.forEach(function (b) {
      var above = b.y > to.y && b.x <= to.x + 0.01 && b.x + b.w >= to.x + to.w - 0.01;
      var within = b.y <= to.y && b.x >= to.x - 0.01 && b.x + b.w <= to.x + to.w + 0.01;
      b.g.style.display = above || within ? "" : "none";
      b.g.style.opacity = above ? 0.5 : 1;
      var x = above ? 0 : (b.x - to.x) / to.w * W, w = above ? W : b.w / to.w * W;
      b.r.setAttribute("x", x); b.r.setAttribute("width", w); b.t.setAttribute("x", x + 3);
      label(b, w);
    });
    back.setAttribute("visibility", to.w < W - 0.01 ? "visible" : "hidden");
  }
  all.forEach(function (b) { b.g.addEventListener("click", function () { zoom(b); }); });
  back.addEventListener("click", function () { zoom(all[0]); });
  document.getElementById("search").addEventListener("click", function () {
    var word = prompt("Search functions (regular expression); nothing to clear"), found = [];
    var e = null;
    try { e = word ? new RegExp(word) : null; } catch (x) { said.textContent = "" + x; return; }
    all.forEach(function (b) {
      var hit = e !== null && e.test(b.t.getAttribute("data-n"));
      b.g.classList.toggle("found", hit);
      if (hit) { found.push(b); }
    });
    var own = found.filter(function (b) {
      return !found.some(function (o) {
        return o !== b && o.y > b.y && o.x <= b.x + 0.01 && o.x + o.w >= b.x + b.w - 0.01;
      });
    });
    var sum = own.reduce(function (s, b) { return s + b.w; }, 0);
    said.textContent = e ? "matched " + (100 * sum / W).toFixed(1) + " %" : "";
  });
})();
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_is_one_file_with_every_function() {
        let folded = BTreeMap::from([
            ("app;main;fill<T>".to_owned(), 750),
            ("app;main;\u{1}odd\"&".to_owned(), 250),
        ]);
        let svg = render_flame(&folded, "faults & time", Weigh::Faults);
        assert!(svg.contains("fill&lt;T&gt;: 750 faults, 75.0 %"), "{svg}");
        assert!(svg.contains("\u{fffd}odd&quot;&amp;: 250 faults, 25.0 %"));
        assert!(svg.contains("<title>faults &amp; time</title>"));
        // The XML namespace is a name; nothing is fetched from it.
        let links = svg.matches("http").count();
        assert_eq!((links, svg.matches("<g class").count()), (1, 5));
    }

    #[test]
    fn names_are_cut_to_their_boxes() {
        assert_eq!(fitting("memset", 60.0), "memset");
        assert_eq!(fitting("clear_page_erms", 60.0), "clear_..");
        assert_eq!(fitting("memset", 20.0), "");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let svg = render_flame(&BTreeMap::new(), "empty", Weigh::Time);
        assert_eq!(svg.matches("<g class").count(), 0);
    }
}
