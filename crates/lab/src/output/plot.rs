//! Draws tables as plots (SVG).
//!
//! Text is laid out with estimated widths, so that plots need no fonts.

use super::rows;
use super::words::slug;
use crate::table::{PlotKind, Summary, Table};
use crate::{Error, statistics};
use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::ops::Range;

const WIDTH_PIXELS: u32 = 860;
/// Colours that colour-blind readers can distinguish (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
];
/// The maximum number of outliers that a plot shows.
const MAX_OUTLIER_POINTS: usize = 200;
/// The ratio of maximum to minimum beyond which an axis is logarithmic.
const LOG_AXIS_RATIO: f64 = 8.0;

/// A plot and the end of its file name.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// The end of the file name: letters, digits and dashes.
    pub name: String,
    /// The caption.
    pub caption: String,
    /// The content of the file.
    pub svg: String,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;
type DrawResult = Result<(), Box<dyn std::error::Error>>;

/// Draws the plots of a table, one for each metric or one for all metrics.
///
/// # Errors
/// A plot cannot be drawn.
pub fn of(table: &Table) -> Result<Vec<Plot>, Error> {
    if table.variants.is_empty() || table.figure == PlotKind::None {
        return Ok(Vec::new());
    }
    if table.figure == PlotKind::Ratios {
        let bars = table.metrics.len() * table.variants.len().saturating_sub(1);
        let height = 90 + 16 * bars as u32 + 10 * table.metrics.len() as u32;
        let caption = format!(
            "{}: ratios of medians to {}",
            table.title, table.variants[0].name
        );
        let svg =
            draw(height, |area| ratios(area, table, &caption)).map_err(draw_error(&caption))?;
        return Ok(vec![Plot {
            name: slug(&table.id),
            caption,
            svg,
        }]);
    }
    table
        .metrics
        .iter()
        .enumerate()
        .filter(|(at, _)| {
            table
                .variants
                .iter()
                .any(|variant| variant.figures[*at].max > 0.0)
        })
        .map(|(at, metric)| {
            let caption = format!("{}: {}", table.title, metric.name);
            let svg = match &table.figure {
                PlotKind::Lines { x, logarithmic } => draw(380, |area| {
                    lines(area, table, at, &caption, x, *logarithmic)
                })
                .map_err(draw_error(&caption))?,
                _ => draw(80 + 34 * table.variants.len() as u32, |area| {
                    boxes(area, table, at, &caption)
                })
                .map_err(draw_error(&caption))?,
            };
            Ok(Plot {
                name: slug(&format!("{} {}", table.id, metric.name)),
                caption,
                svg,
            })
        })
        .collect()
}

fn draw_error(caption: &str) -> impl FnOnce(Box<dyn std::error::Error>) -> Error + use<> {
    let caption = caption.to_owned();
    move |error| Error::other(format!("cannot draw {caption}: {error}"))
}

fn draw(
    height: u32,
    how: impl FnOnce(&Area) -> DrawResult,
) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH_PIXELS, height)).into_drawing_area();
        area.fill(&WHITE)?;
        how(&area)?;
        area.present()?;
    }
    Ok(svg)
}

/// The ends of the whiskers: the last samples within 1.5 times the box (Tukey).
fn whiskers(figures: &Summary) -> (f64, f64) {
    let reach = 1.5 * (figures.q3 - figures.q1);
    if figures.samples.is_empty() {
        return (
            (figures.q1 - reach).max(figures.min),
            (figures.q3 + reach).min(figures.max),
        );
    }
    let within = figures
        .samples
        .iter()
        .copied()
        .filter(|&at| (figures.q1 - reach..=figures.q3 + reach).contains(&at));
    within.fold((figures.q1, figures.q3), |(low, high), at| {
        (low.min(at), high.max(at))
    })
}

/// A linear or logarithmic axis, so that the drawing code can treat both in the same way.
enum Axis {
    Linear(RangedCoordf64),
    Logarithmic(LogCoord<f64>),
}

impl Axis {
    fn new(range: Range<f64>, logarithmic: bool) -> Axis {
        if logarithmic {
            Axis::Logarithmic(range.log_scale().into())
        } else {
            Axis::Linear(range.into())
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        match self {
            Axis::Linear(axis) => axis.map(value, limit),
            Axis::Logarithmic(axis) => axis.map(value, limit),
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self {
            Axis::Linear(axis) => axis.key_points(hint),
            Axis::Logarithmic(axis) => axis.key_points(hint),
        }
    }

    fn range(&self) -> Range<f64> {
        match self {
            Axis::Linear(axis) => axis.range(),
            Axis::Logarithmic(axis) => axis.range(),
        }
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        tick(*value)
    }
}

/// Creates an axis from minimum to maximum with some margin. It is logarithmic if the two are far
/// apart.
fn axis(values: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if !low.is_finite() {
        return Axis::new(0.0..1.0, false);
    }
    if low > 0.0 && high / low > LOG_AXIS_RATIO {
        return Axis::new(low / 1.15..high * 1.15, true);
    }
    let room = ((high - low) * 0.06).max(high.abs() * 1e-3).max(1e-9);
    Axis::new(low - room..high + room, false)
}

/// The width of the names at the left, in pixels.
fn room_for<'n>(names: impl Iterator<Item = &'n str>) -> u32 {
    (names
        .map(|name| name.chars().count() as u32)
        .max()
        .unwrap_or(0)
        * 7
        + 16)
        .clamp(60, 330)
}

/// The number of labels that plotters puts on an axis by default.
const MAX_AXIS_LABELS: usize = 11;

/// Creates an empty chart with one row for each name. The caller writes the names beside it.
fn chart_of_rows<'a, 'b>(
    area: &'a Area<'b>,
    caption: &str,
    names: impl Iterator<Item = &'a str>,
    unit: &str,
    labels: usize,
    axis: Axis,
    rows: f64,
) -> Result<Chart<'a, 'b>, Box<dyn std::error::Error>> {
    let mut chart = chart(
        area,
        caption,
        room_for(names),
        axis,
        Axis::new(0.0..rows, false),
    )?;
    mesh(&mut chart)
        .disable_y_mesh()
        .y_labels(0)
        .x_labels(labels)
        .x_desc(unit)
        .draw()?;
    Ok(chart)
}

fn chart<'a, 'b>(
    area: &'a Area<'b>,
    caption: &str,
    left: u32,
    x: Axis,
    y: Axis,
) -> Result<Chart<'a, 'b>, Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area);
    chart
        .caption(caption, ("sans-serif", 17))
        .margin(8)
        .x_label_area_size(38)
        .y_label_area_size(left);
    Ok(chart.build_cartesian_2d(x, y)?)
}

/// The grid lines and the labels of the axes.
fn mesh<'a, 'b, 'c>(chart: &'c mut Chart<'a, 'b>) -> MeshStyle<'a, 'c, Axis, Axis, SVGBackend<'b>> {
    let mut mesh = chart.configure_mesh();
    mesh.max_light_lines(4)
        .label_style(("sans-serif", 12))
        .axis_desc_style(("sans-serif", 13))
        .light_line_style(BLACK.mix(0.06))
        .bold_line_style(BLACK.mix(0.14));
    mesh
}

fn boxes(area: &Area, table: &Table, metric: usize, caption: &str) -> DrawResult {
    let shown = rows::display_unit(table, metric);
    let far = |figures: &Summary| {
        let (low, high) = whiskers(figures);
        // The axis ends at the 99th percentile, because a single distant outlier would flatten the
        // boxes.
        [
            shown.scale(low.min(figures.min)),
            shown.scale(high.max(figures.p99)),
        ]
    };
    let axis = axis(
        table
            .variants
            .iter()
            .flat_map(|variant| far(&variant.figures[metric])),
    );
    let range = axis.range();
    let count = table.variants.len() as f64;
    let names = table.variants.iter().map(|variant| variant.name.as_str());
    let mut chart = chart_of_rows(area, caption, names, shown.unit, 8, axis, count)?;
    for (index, variant) in table.variants.iter().enumerate() {
        let figures = &variant.figures[metric];
        let y = count - index as f64 - 0.5;
        let colour = COLOURS[index % COLOURS.len()];
        let at = |value: f64| shown.scale(value).clamp(range.start, range.end);
        let (low, high) = whiskers(figures);
        let bar = |x0: f64, y0: f64, x1: f64, y1: f64, width: u32| {
            PathElement::new(vec![(x0, y0), (x1, y1)], colour.stroke_width(width))
        };
        chart.draw_series([
            bar(at(low), y, at(figures.q1), y, 1),
            bar(at(figures.q3), y, at(high), y, 1),
            bar(at(low), y - 0.15, at(low), y + 0.15, 1),
            bar(at(high), y - 0.15, at(high), y + 0.15, 1),
        ])?;
        let corners = [(at(figures.q1), y - 0.28), (at(figures.q3), y + 0.28)];
        chart.draw_series([Rectangle::new(corners, colour.mix(0.25).filled())])?;
        chart.draw_series([Rectangle::new(corners, colour.stroke_width(1))])?;
        chart.draw_series([bar(
            at(figures.median),
            y - 0.28,
            at(figures.median),
            y + 0.28,
            3,
        )])?;
        let outside: Vec<f64> = figures
            .samples
            .iter()
            .copied()
            .filter(|value| *value < low || *value > high)
            .collect();
        let step = outside.len().div_ceil(MAX_OUTLIER_POINTS).max(1);
        let points = outside
            .iter()
            .step_by(step)
            .map(|value| shown.scale(*value));
        chart.draw_series(
            points
                .filter(|x| range.contains(x))
                .map(|x| Circle::new((x, y), 2, colour.mix(0.35).filled())),
        )?;
        name(
            area,
            &chart.plotting_area().map_coordinate(&(range.start, y)),
            &variant.name,
        )?;
    }
    Ok(())
}

/// Writes a name to the left of a point.
fn name(area: &Area, &(x, y): &(i32, i32), name: &str) -> DrawResult {
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    let style = ("sans-serif", 13)
        .into_text_style(area)
        .pos(Pos::new(HPos::Right, VPos::Center));
    area.draw_text(name, &style, (x - 8, y))?;
    Ok(())
}

fn lines(
    area: &Area,
    table: &Table,
    metric: usize,
    caption: &str,
    x: &str,
    logarithmic: bool,
) -> DrawResult {
    let xs = || table.variants.iter().filter_map(|variant| variant.x);
    let (low, high) = xs().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
        (low.min(x), high.max(x))
    });
    if !low.is_finite() {
        return Ok(());
    }
    let shown = rows::display_unit(table, metric);
    let ends = table.variants.iter().flat_map(|variant| {
        let figures = &variant.figures[metric];
        [shown.scale(figures.q1), shown.scale(figures.q3)]
    });
    let (least, most) = ends.fold((f64::INFINITY, 0.0), |(least, most), end| {
        (f64::min(least, end), f64::max(most, end))
    });
    // The axis starts at 0, so that growth is not exaggerated, unless the values are too far apart.
    let y_axis = if least > 0.0 && most / least > 3.0 * LOG_AXIS_RATIO {
        Axis::new(least / 2.0..most * 4.0, true)
    } else {
        Axis::new(0.0..(most * 1.3).max(1e-9), false)
    };
    let x_axis = if logarithmic && low > 0.0 && high > low {
        Axis::new(low / 1.2..high * 1.2, true)
    } else {
        let room = ((high - low) * 0.04).max(1e-9);
        Axis::new(low - room..high + room, false)
    };
    let mut chart = chart(area, caption, 70, x_axis, y_axis)?;
    mesh(&mut chart).x_desc(x).y_desc(shown.unit).draw()?;
    let mut names: Vec<&str> = Vec::new();
    for variant in &table.variants {
        let series = variant.series.as_deref().unwrap_or_default();
        if !names.contains(&series) {
            names.push(series);
        }
    }
    for (index, series) in names.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let of_it: Vec<(f64, &Summary)> = table
            .variants
            .iter()
            .filter(|variant| variant.series.as_deref().unwrap_or_default() == *series)
            .filter_map(|variant| Some((variant.x?, &variant.figures[metric])))
            .collect();
        let medians = || {
            of_it
                .iter()
                .map(|(x, figures)| (*x, shown.scale(figures.median)))
        };
        chart.draw_series(of_it.iter().map(|(x, figures)| {
            let ends = vec![(*x, shown.scale(figures.q1)), (*x, shown.scale(figures.q3))];
            PathElement::new(ends, colour.mix(0.5).stroke_width(1))
        }))?;
        chart
            .draw_series(LineSeries::new(medians(), colour.stroke_width(2)))?
            .label(*series)
            .legend(move |(x, y)| {
                PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2))
            });
        chart.draw_series(medians().map(|at| Circle::new(at, 3, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.2))
        .position(SeriesLabelPosition::UpperLeft)
        .draw()?;
    Ok(())
}

/// Formats the label of an axis, without trailing zeros and with 1M instead of 1000000.
fn tick(value: f64) -> String {
    let (divisor, suffix) = match value.abs() {
        size if size >= 1e9 => (1e9, "G"),
        size if size >= 1e6 => (1e6, "M"),
        size if size >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    // Steps are short numbers. Rounding removes the error of their sums.
    let rounded = format!("{:.4}", value / divisor);
    let short = rounded.trim_end_matches('0').trim_end_matches('.');
    format!(
        "{}{suffix}",
        if short.is_empty() || short == "-0" {
            "0"
        } else {
            short
        }
    )
}

fn ratios(area: &Area, table: &Table, caption: &str) -> DrawResult {
    let others = &table.variants[1..];
    let all = || {
        others
            .iter()
            .flat_map(|variant| &variant.figures)
            .filter_map(|figures| figures.ratio)
            .flat_map(|ratio| [ratio.low, ratio.high])
    };
    let axis = axis(all().chain([1.0]));
    let range = axis.range();
    let rows = table.metrics.len() as f64;
    let names = table.metrics.iter().map(|metric| metric.name.as_str());
    let unit = format!("times {}", table.variants[0].name);
    let mut chart = chart_of_rows(area, caption, names, &unit, MAX_AXIS_LABELS, axis, rows)?;
    chart.draw_series([PathElement::new(
        vec![(1.0, 0.0), (1.0, rows)],
        BLACK.mix(0.5).stroke_width(1),
    )])?;
    let thick = 0.8 / others.len().max(1) as f64;
    for (index, variant) in others.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let at = |ratio: f64| ratio.clamp(range.start, range.end);
        let bars = variant
            .figures
            .iter()
            .enumerate()
            .filter_map(|(metric, figures)| {
                let y = rows - metric as f64 - 0.1 - thick * (index as f64 + 1.0);
                Some((y, figures.ratio?))
            });
        let bars: Vec<(f64, statistics::Interval)> = bars.collect();
        chart
            .draw_series(bars.iter().map(|(y, ratio)| {
                Rectangle::new(
                    [(at(1.0), *y), (at(ratio.value), y + thick * 0.9)],
                    colour.mix(0.6).filled(),
                )
            }))?
            .label(variant.name.clone())
            .legend(move |(x, y)| {
                Rectangle::new([(x, y - 4), (x + 18, y + 4)], colour.mix(0.6).filled())
            });
        chart.draw_series(bars.iter().map(|(y, ratio)| {
            let middle = y + thick * 0.45;
            PathElement::new(
                vec![(at(ratio.low), middle), (at(ratio.high), middle)],
                BLACK.stroke_width(1),
            )
        }))?;
    }
    for (metric, known) in table.metrics.iter().enumerate() {
        let y = rows - metric as f64 - 0.5;
        name(
            area,
            &chart.plotting_area().map_coordinate(&(range.start, y)),
            &known.name,
        )?;
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.2))
        .position(SeriesLabelPosition::UpperRight)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::tick;

    #[test]
    fn tick_is_short() {
        for (value, shown) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.300_000_000_000_000_04, "0.3"),
            (1.05, "1.05"),
            (500.0, "500"),
            (1000.0, "1000"),
            (20_000.0, "20k"),
            (1_500_000.0, "1.5M"),
            (-2.0, "-2"),
        ] {
            assert_eq!(tick(value), shown);
        }
    }
}
