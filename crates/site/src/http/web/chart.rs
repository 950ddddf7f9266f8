//! Bar charts as SVG, each with a table of its numbers. Colours are classes of the style sheet.

use crate::core::standings::statistics::nice;
use crate::text::t;
use maud::{Markup, Render, html};

/// The size of the picture, and the part that contains the bars.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 632.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 212.0;
/// The width of the widest bar, and the fraction of its slot that a bar covers.
const MAX_BAR: f64 = 56.0;
const COVERED: f64 = 0.84;
/// The width of a character.
const CHARACTER: f64 = 13.0;
/// Steps of the scale.
const STEPS: usize = 4;

/// A chart of stacked bars.
pub struct Chart<'a> {
    /// Distinguishes the charts of a page.
    pub id: String,
    pub title: &'a dyn Render,
    /// The meaning of the bars.
    pub axis: &'a dyn Render,
    /// The parts of bars from bottom to top: the class of the colour, and the label.
    pub series: Vec<(&'static str, &'a dyn Render)>,
    pub bars: Vec<Bar>,
}

/// A bar.
pub struct Bar {
    /// The text below the bar.
    pub label: String,
    /// The text in the table.
    pub name: Markup,
    /// A number for each part.
    pub counts: Vec<usize>,
}

impl Bar {
    fn sum(&self) -> usize {
        self.counts.iter().sum()
    }
}

/// Converts a count to a length. Counts above 2^32 are clamped.
fn length(count: usize) -> f64 {
    u32::try_from(count).unwrap_or(u32::MAX).into()
}

/// A coordinate with one decimal place.
fn at(coordinate: f64) -> String {
    format!("{coordinate:.1}")
}

impl Render for Chart<'_> {
    fn render(&self) -> Markup {
        let (title, text) = (format!("{}-title", self.id), format!("{}-text", self.id));
        html! {
            figure.chart {
                figcaption { (self.title) }
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
                    aria-labelledby={ (title) " " (text) } {
                    title id=(title) { (self.title) }
                    desc id=(text) { (self.summary()) }
                    (self.scale())
                    @for (index, bar) in self.bars.iter().enumerate() { (self.bar(index, bar)) }
                }
                p.hint { (self.axis) }
                @if self.series.len() > 1 { (self.legend()) }
                details { summary { (t::ChartNumbers) } (self.table()) }
            }
        }
    }
}

impl Chart<'_> {
    fn summary(&self) -> Markup {
        let highest = self.bars.iter().rev().max_by_key(|bar| bar.sum());
        html! {
            @if let Some(bar) = highest {
                (t::ChartSummary { bars: self.bars.len(), name: &bar.name, count: bar.sum() })
            }
        }
    }

    /// The distance between two lines of the scale.
    fn step(&self) -> usize {
        let max = self.bars.iter().map(Bar::sum).max().unwrap_or(0).max(1);
        let step = nice(i64::try_from(max.div_ceil(STEPS)).unwrap_or(i64::MAX));
        usize::try_from(step).unwrap_or(usize::MAX)
    }

    /// The largest number of the scale.
    fn top(&self) -> usize {
        let max = self.bars.iter().map(Bar::sum).max().unwrap_or(0).max(1);
        max.next_multiple_of(self.step())
    }

    /// The y coordinate of a number.
    fn y(&self, count: usize) -> f64 {
        BOTTOM - (BOTTOM - TOP) * length(count) / length(self.top())
    }

    fn scale(&self) -> Markup {
        html! {
            @for line in (0..=self.top()).step_by(self.step()) {
                @let y = self.y(line);
                line x1=(at(LEFT)) x2=(at(RIGHT)) y1=(at(y)) y2=(at(y)) {}
                text.number x=(at(LEFT - 6.0)) y=(at(y + 7.0)) { (line) }
            }
        }
    }

    /// The distance between labelled bars, counted in bars. Labels do not overlap.
    fn labelled(&self, place: f64) -> usize {
        let longest = self.bars.iter().map(|bar| bar.label.chars().count()).max();
        let needed = length(longest.unwrap_or(0) + 1) * CHARACTER;
        (1..self.bars.len())
            .find(|every| length(*every) * place >= needed)
            .unwrap_or(usize::MAX)
    }

    fn bar(&self, index: usize, bar: &Bar) -> Markup {
        let place = (RIGHT - LEFT) / length(self.bars.len());
        let middle = LEFT + place * (length(index) + 0.5);
        let width = (place * COVERED).min(MAX_BAR);
        let mut below = 0;
        let parts = self
            .series
            .iter()
            .zip(&bar.counts)
            .filter(|(_, count)| **count > 0);
        let parts: Vec<_> = parts
            .map(|((class, words), count)| {
                let from = below;
                below += count;
                (class, words, count, self.y(from), self.y(below))
            })
            .collect();
        html! {
            @for (class, words, count, bottom, top) in &parts {
                rect class=(class) x=(at(middle - width / 2.0)) width=(at(width))
                    y=(at(*top)) height=(at(bottom - top)) {
                    title { (t::Colon { what: &bar.name, detail: html! { (words) " " (count) } }) }
                }
            }
            @if index.is_multiple_of(self.labelled(place)) {
                text.label x=(at(middle)) y=(at(BOTTOM + 28.0)) { (bar.label) }
            }
        }
    }

    fn legend(&self) -> Markup {
        html! {
            ul.legend {
                @for (class, words) in &self.series {
                    li {
                        svg viewBox="0 0 10 10" width="12" height="12" aria-hidden="true" {
                            rect class=(class) width="10" height="10" {}
                        }
                        " " (words)
                    }
                }
            }
        }
    }

    fn table(&self) -> Markup {
        html! {
            div.scroll tabindex="0" { table {
                thead { tr {
                    th scope="col" { (self.axis) }
                    @for (_, words) in &self.series { th.number scope="col" { (words) } }
                } }
                tbody { @for bar in &self.bars { tr {
                    th scope="row" { (bar.name) }
                    @for count in &bar.counts { td.number { (count) } }
                } } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scraper::{Html, Selector};

    fn chart(counts: &[[usize; 2]]) -> Html {
        let bars = counts.iter().zip('A'..).map(|(counts, label)| Bar {
            label: label.to_string(),
            name: html! { (label) },
            counts: counts.to_vec(),
        });
        let (axis, good, bad) = (t::Problem, t::VerdictAccepted, t::VerdictWrongAnswer);
        let chart = Chart {
            id: "c".to_owned(),
            title: &t::Statistics,
            axis: &axis,
            series: vec![("accepted", &good), ("wrong-answer", &bad)],
            bars: bars.collect(),
        };
        Html::parse_fragment(&chart.render().into_string())
    }

    fn texts(chart: &Html, selector: &str) -> Vec<String> {
        let selector = Selector::parse(selector).unwrap();
        let found = chart.select(&selector);
        found.map(|one| one.text().collect()).collect()
    }

    #[test]
    fn bars_are_stacked_to_the_height_of_their_numbers() {
        let chart = chart(&[[3, 1], [0, 8], [0, 0]]);
        let rects = Selector::parse("figure > svg > rect").unwrap();
        let number = |one: &str| one.parse::<f64>().unwrap();
        let found: Vec<(String, f64, f64)> = chart
            .select(&rects)
            .map(|one| {
                let attr = |name| one.value().attr(name).unwrap();
                (
                    attr("class").to_owned(),
                    number(attr("y")),
                    number(attr("height")),
                )
            })
            .collect();
        // The scale ends at 8, which is 200 units high.
        let expected = [
            ("accepted", 137.0, 75.0),
            ("wrong-answer", 112.0, 25.0),
            ("wrong-answer", 12.0, 200.0),
        ];
        let expected = expected.map(|(class, y, height)| (class.to_owned(), y, height));
        assert_eq!(found, expected);
        assert_eq!(texts(&chart, "svg text.number"), ["0", "2", "4", "6", "8"]);
        assert_eq!(texts(&chart, "svg text.label"), ["A", "B", "C"]);
    }

    #[test]
    fn numbers_of_a_chart_are_in_its_table_and_its_name() {
        let chart = chart(&[[3, 1], [0, 8]]);
        let cells = ["A", "3", "1", "B", "0", "8"];
        assert_eq!(texts(&chart, "tbody th, tbody td"), cells);
        let names = texts(&chart, "#c-title, #c-text").join(" ");
        assert!(
            names.starts_with("Statistics ") && names.contains('8'),
            "{names}"
        );
        let picture = Selector::parse("svg[role=img][aria-labelledby='c-title c-text']").unwrap();
        assert_eq!(chart.select(&picture).count(), 1);
        // The policy of the pages forbids styles in elements.
        assert!(!chart.html().contains("style"), "{}", chart.html());
    }

    #[test]
    fn labels_of_many_bars_are_left_out() {
        let labels = texts(&chart(&[[1, 0]; 40]), "svg text.label");
        assert_eq!(labels.len(), 20);
    }
}
