//! Marks that can be distinguished without colours.

use super::{COLOURS, Place, Svg, turned, written};

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A circle.
    Circle,
    /// A square.
    Square,
    /// A triangle pointing up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle pointing down.
    Wedge,
    /// A vertical bar.
    Bar,
}

impl Shape {
    /// Returns the shape of a policy, by its position in the plan.
    #[must_use]
    pub fn of(index: usize) -> Self {
        const OTHERS: [Shape; COLOURS] = [
            Shape::Square,
            Shape::Triangle,
            Shape::Diamond,
            Shape::Wedge,
            Shape::Bar,
        ];
        // Shifted after each pass through the colours, so that no two have the same colour and shape.
        turned(index).map_or(Self::Circle, |(colour, turn)| {
            OTHERS[(colour + turn) % COLOURS]
        })
    }

    /// The outline around the centre, for all shapes but the circle.
    fn outline(self) -> &'static str {
        match self {
            Self::Circle => "",
            Self::Square => "m-3.5-3.5h7v7h-7z",
            Self::Triangle => "m-4 3.5l4-7l4 7z",
            Self::Diamond => "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",
            Self::Wedge => "m-4-3.5l4 7l4-7z",
            Self::Bar => "m-2-4.5h4v9h-4z",
        }
    }
}

/// Sets if a mark is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// In the colour of its group.
    Full,
    /// An outline.
    Hollow,
}

impl Svg {
    /// Draws a mark in the colour of its group; the title is shown on hover.
    pub fn marker(&mut self, shape: Shape, fill: Fill, at: Place, title: Option<&str>) {
        let Some((x, y)) = written(at) else { return };
        let class = match fill {
            Fill::Full => "mark",
            Fill::Hollow => "mark hollow",
        };
        if shape == Shape::Circle {
            let circle = format!("cx=\"{x}\" cy=\"{y}\" r=\"4\"");
            return self.element("circle", class, &circle, title);
        }
        let path = format!("d=\"M{x} {y}{}\"", shape.outline());
        self.element("path", class, &path, title);
    }

    /// Draws a cross, for a failure.
    pub fn cross(&mut self, at: Place, title: &str) {
        if let Some((x, y)) = written(at) {
            let path = format!("d=\"M{x} {y}m-3.5-3.5l7 7m0-7l-7 7\"");
            self.element("path", "line cross", &path, Some(title));
        }
    }

    /// Draws a ring around a mark with a remark.
    pub fn ring(&mut self, at: Place) {
        if let Some((x, y)) = written(at) {
            self.element(
                "circle",
                "ring",
                &format!("cx=\"{x}\" cy=\"{y}\" r=\"7\""),
                None,
            );
        }
    }
}
