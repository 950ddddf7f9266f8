//! Charts as SVG.
//!
//! An SVG contains only lines: it is stretched to the width of its container, which would stretch
//! text as well. The labels are HTML around it. Positions are attributes, because the
//! Content-Security-Policy forbids inline styles.

use maud::{Markup, html};
use std::fmt::Write as _;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 150.0;

/// A chart of the values of the last few minutes.
#[derive(Debug)]
pub struct Chart<'a> {
    /// The id of the chart in the page.
    pub id: &'a str,
    /// The title of the chart.
    pub title: &'a str,
    /// The current value, in words.
    pub now: String,
    /// One value for each point in time, the latest last. If there are fewer than `points` values,
    /// the left side stays empty.
    pub values: Vec<f64>,
    /// The number of points across the whole width.
    pub points: usize,
    /// The label of the left end, such as `10 minutes ago`.
    pub begin: &'a str,
}

impl Chart<'_> {
    /// The chart with its labels.
    pub fn render(&self) -> Markup {
        let top = ceiling(self.values.iter().copied().fold(0.0, f64::max));
        let (line, area) = self.paths(top);
        let title = format!("{}-title", self.id);
        let description = format!("{}-description", self.id);
        html! {
            figure.chart {
                figcaption {
                    span id=(title) { (self.title) }
                    strong { (self.now) }
                }
                div.plot {
                    span.at-top aria-hidden="true" { (number(top)) }
                    span.at-middle aria-hidden="true" { (number(top / 2.0)) }
                    svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none"
                        role="img" aria-labelledby={ (title) " " (description) } {
                        desc id=(description) { (self.description()) }
                        @for y in [1.0, HEIGHT / 2.0, HEIGHT - 1.0] {
                            line.grid x1="0" x2=(WIDTH) y1=(y) y2=(y) {}
                        }
                        @if !line.is_empty() {
                            path.area d=(area) {}
                            path.line d=(line) {}
                        }
                    }
                }
                div.axis aria-hidden="true" { span { (self.begin) } span { "now" } }
            }
        }
    }

    fn description(&self) -> String {
        let largest = self.values.iter().copied().fold(0.0, f64::max);
        format!("Now {}; at most {}.", self.now, number(largest))
    }

    /// The line and the area beneath it.
    fn paths(&self, top: f64) -> (String, String) {
        let (mut line, mut area) = (String::new(), String::new());
        if self.values.len() < 2 {
            return (line, area);
        }
        let steps = count(self.points.max(2) - 1);
        let missing = count(self.points.saturating_sub(self.values.len()));
        let x = |index: usize| (count(index) + missing) / steps * WIDTH;
        for (index, value) in self.values.iter().enumerate() {
            let y = HEIGHT - 1.0 - (value / top).clamp(0.0, 1.0) * (HEIGHT - 2.0);
            let command = if index == 0 { 'M' } else { 'L' };
            // Writing to a String cannot fail.
            let _ = write!(line, "{command}{:.1} {y:.1}", x(index));
        }
        let _ = write!(area, "{line}L{WIDTH} {HEIGHT}L{:.1} {HEIGHT}Z", x(0));
        (line, area)
    }
}

/// A bar that shows a part of a whole.
pub fn bar(part: u64, whole: u64) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "a bar has few pixels")]
    let share = if whole == 0 {
        0.0
    } else {
        (part as f64 / whole as f64).min(1.0)
    };
    let width = format!("{:.2}", share * 100.0);
    html! {
        svg.bar viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" {
            rect.track width="100" height="6" rx="1" {}
            rect.fill width=(width) height="6" rx="1" {}
        }
    }
}

/// The mean of each group of `size` values. Values at the start that do not fill a group are
/// dropped.
pub fn means(values: &[f64], size: usize) -> Vec<f64> {
    let rest = values.len() % size;
    values[rest..]
        .chunks(size)
        .map(|group| group.iter().sum::<f64>() / count(size))
        .collect()
}

/// The largest of each group of `size` values. Values at the start that do not fill a group are
/// dropped.
pub fn maxima(values: &[f64], size: usize) -> Vec<f64> {
    let rest = values.len() % size;
    let groups = values[rest..].chunks(size);
    groups
        .map(|group| group.iter().copied().fold(0.0, f64::max))
        .collect()
}

/// The smallest of 2, 5, 10, 20, 50, ... that is at least `value`.
fn ceiling(value: f64) -> f64 {
    let mut power = 1.0;
    loop {
        for factor in [1.0, 2.0, 5.0] {
            let step = factor * power;
            if step >= value && step >= 2.0 {
                return step;
            }
        }
        power *= 10.0;
        if !f64::is_finite(power) {
            return f64::MAX;
        }
    }
}

/// A number, with one decimal digit if it is small.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 || value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

#[expect(clippy::cast_precision_loss, reason = "points are few")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: Vec<f64>) -> Chart<'static> {
        Chart {
            id: "queue",
            title: "Waiting",
            now: "3".to_owned(),
            values,
            points: 5,
            begin: "5 s ago",
        }
    }

    #[test]
    fn chart_scales_values_and_ends_at_the_right() {
        let chart = chart(vec![0.0, 5.0, 10.0]);
        let (line, area) = chart.paths(10.0);
        assert_eq!(line, "M300.0 149.0L450.0 75.0L600.0 1.0");
        assert_eq!(area, format!("{line}L600 150L300.0 150Z"));
        assert!(chart.render().0.contains("Now 3; at most 10."));
    }

    #[test]
    fn chart_without_values_has_no_line() {
        assert!(!chart(Vec::new()).render().0.contains("<path"));
        assert!(!chart(vec![1.0]).render().0.contains("<path"));
    }

    #[test]
    fn scale_ends_at_a_round_number() {
        let ends = [0.0, 2.0, 2.1, 7.0, 11.0, 300.0].map(ceiling);
        assert_eq!(ends, [2.0, 2.0, 5.0, 10.0, 20.0, 500.0]);
    }

    #[test]
    fn groups_end_with_the_latest_value() {
        let values = [9.0, 1.0, 3.0, 5.0, 7.0];
        assert_eq!(means(&values, 2), [2.0, 6.0]);
        assert_eq!(maxima(&values, 2), [3.0, 7.0]);
        assert!(means(&[], 2).is_empty());
    }
}
