//! Converts tables to rows of text for Markdown and HTML.

use super::words::{DisplayUnit, number};
use crate::statistics::Interval;
use crate::table::{PlotKind, Table};
use crate::{Report, Unit, WelchTest};

/// One table as text. The first column is a name, the others are numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct TextTable {
    pub heading: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Returns the text tables of a table, with its figures and its t-tests.
pub fn of(report: &Report, table: &Table) -> Vec<TextTable> {
    let mut all = of_figures(table);
    let tests: Vec<&WelchTest> = report
        .tests
        .iter()
        .filter(|test| test.table == table.id)
        .collect();
    if !tests.is_empty() {
        all.push(of_tests(table, &tests));
    }
    all
}

/// Returns one text table for each metric, or one for all metrics if the plot shows ratios.
fn of_figures(table: &Table) -> Vec<TextTable> {
    if table.figure == PlotKind::Ratios {
        return vec![by_metric(table)];
    }
    if let PlotKind::Lines { x, .. } = &table.figure
        && table
            .variants
            .iter()
            .flat_map(|variant| &variant.figures)
            .all(|figures| figures.n == 1)
    {
        return (0..table.metrics.len())
            .map(|metric| by_x(table, metric, x))
            .collect();
    }
    (0..table.metrics.len())
        .map(|metric| by_variant(table, metric))
        .collect()
}

/// The unit in which one metric is displayed.
pub fn display_unit(table: &Table, metric: usize) -> DisplayUnit {
    let medians = table
        .variants
        .iter()
        .map(|variant| variant.figures[metric].median);
    DisplayUnit::for_values(
        table.metrics[metric].unit,
        medians.fold(f64::INFINITY, f64::min),
    )
}

fn by_variant(table: &Table, metric: usize) -> TextTable {
    let shown = display_unit(table, metric);
    let of_tails = table
        .variants
        .iter()
        .any(|variant| variant.figures[metric].n >= 1000);
    let mut columns: Vec<String> = ["", "n", "median", "mean", "deviation", "p99"]
        .map(str::to_owned)
        .into();
    if of_tails {
        columns.push("p99.9".to_owned());
    }
    let compared = table
        .variants
        .iter()
        .any(|variant| variant.figures[metric].ratio.is_some());
    if compared {
        let centre = match table.metrics[metric].centre {
            crate::statistics::Centre::Median => "medians",
            crate::statistics::Centre::Mean => "means",
        };
        columns.push(format!("ratio of {centre} [95 %]"));
    }
    let rows = table
        .variants
        .iter()
        .enumerate()
        .map(|(index, variant)| {
            let figures = &variant.figures[metric];
            let mut row = vec![variant.name.clone(), figures.n.to_string()];
            row.extend(
                [figures.median, figures.mean, figures.deviation, figures.p99]
                    .map(|value| shown.number(value)),
            );
            if of_tails {
                row.push(shown.number(figures.p999));
            }
            if compared {
                row.push(match figures.ratio {
                    Some(ratio) => against(ratio, variant.against.as_deref()),
                    None => if index == 0 { "1" } else { "" }.to_owned(),
                });
            }
            row
        })
        .collect();
    TextTable {
        heading: shown.heading(&table.metrics[metric].name),
        columns,
        rows,
    }
}

/// Formats a ratio to the variant of this name. If its interval contains 1, the text states that,
/// so that a reader does not mistake the ratio for a gain or a loss.
fn against(ratio: Interval, name: Option<&str>) -> String {
    let mut words = ratio.to_string();
    if let Some(name) = name {
        words += &format!(" to {name}");
    }
    if (ratio.low..=ratio.high).contains(&1.0) {
        words += ", no difference seen";
    }
    words
}

/// Returns a table with one row for each of Welch's t-tests.
fn of_tests(table: &Table, tests: &[&WelchTest]) -> TextTable {
    let row = |test: &&WelchTest| {
        let [base, other] = &test.variants;
        let welch = &test.welch;
        let difference = welch.difference;
        let metric = table
            .metrics
            .iter()
            .position(|metric| metric.name == test.metric);
        let shown = metric.map_or(DisplayUnit::for_values(Unit::Count, 1.0), |metric| {
            display_unit(table, metric)
        });
        let of_base = |value: f64| match table.figures(base, &test.metric) {
            Some(figures) => number(100.0 * value / figures.mean),
            None => String::new(),
        };
        let interval = |words: &dyn Fn(f64) -> String| {
            format!(
                "{} [{}, {}]",
                words(difference.value),
                words(difference.low),
                words(difference.high)
            )
        };
        vec![
            format!("{}: {other} minus {base}", test.metric),
            format!("{} {}", interval(&|value| shown.number(value)), shown.unit),
            interval(&of_base),
            number(welch.t),
            number(welch.degrees),
            if welch.p < 1e-4 {
                "< 0.0001".to_owned()
            } else {
                format!("{:.4}", welch.p)
            },
            if welch.p < 0.05 {
                "the means differ"
            } else {
                "no difference seen"
            }
            .to_owned(),
        ]
    };
    let columns = [
        "",
        "difference of means [95 %]",
        "the same in %",
        "t",
        "degrees of freedom",
        "p",
        "",
    ];
    TextTable {
        heading: "Welch's t-test".to_owned(),
        columns: columns.map(str::to_owned).into(),
        rows: tests.iter().map(row).collect(),
    }
}

/// Returns a table of single numbers, with a row for each x and a column for each line.
fn by_x(table: &Table, metric: usize, x: &str) -> TextTable {
    let shown = display_unit(table, metric);
    let mut lines: Vec<&str> = Vec::new();
    let mut xs: Vec<f64> = Vec::new();
    for variant in &table.variants {
        let line = variant.series.as_deref().unwrap_or_default();
        if !lines.contains(&line) {
            lines.push(line);
        }
        xs.extend(variant.x.filter(|x| !xs.contains(x)));
    }
    xs.sort_unstable_by(f64::total_cmp);
    let at = |line: &str, x: f64| {
        let mut of_line = table
            .variants
            .iter()
            .filter(|variant| variant.series.as_deref().unwrap_or_default() == line);
        of_line
            .find(|variant| variant.x == Some(x))
            .map(|variant| shown.number(variant.figures[metric].median))
    };
    let row = |x: &f64| {
        let cells = lines.iter().map(|line| at(line, *x).unwrap_or_default());
        std::iter::once(x.to_string()).chain(cells).collect()
    };
    TextTable {
        heading: shown.heading(&table.metrics[metric].name),
        columns: std::iter::once(x)
            .chain(lines.iter().copied())
            .map(str::to_owned)
            .collect(),
        rows: xs.iter().map(row).collect(),
    }
}

fn by_metric(table: &Table) -> TextTable {
    let mut columns = vec![String::new()];
    for (index, variant) in table.variants.iter().enumerate() {
        columns.push(variant.name.clone());
        if index > 0 {
            columns.push("ratio [95 %]".to_owned());
        }
    }
    let rows = (0..table.metrics.len())
        .map(|metric| {
            let shown = display_unit(table, metric);
            let mut row = vec![shown.heading(&table.metrics[metric].name)];
            for (index, variant) in table.variants.iter().enumerate() {
                let figures = &variant.figures[metric];
                row.push(shown.number(figures.median));
                if index > 0 {
                    row.push(
                        figures
                            .ratio
                            .map(|ratio| against(ratio, None))
                            .unwrap_or_default(),
                    );
                }
            }
            row
        })
        .collect();
    TextTable {
        heading: "medians".to_owned(),
        columns,
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Metric, Samples};
    use crate::{Lab, Options, experiments};

    #[test]
    fn equal_variants_are_marked_no_difference_seen() {
        let of = |name: &str, by: f64| {
            // Each variant has the same noise in a different order.
            let noise = |at: u32| f64::from((at * if by == 1.0 { 7 } else { 11 }) % 30) / 10.0;
            let values = (0..30).map(|at| (1000.0 + noise(at)) * by).collect();
            Samples {
                name: name.to_owned(),
                values: vec![values],
                ..Samples::default()
            }
        };
        let samples = [of("bare", 1.0), of("alike", 1.0001), of("dearer", 1.5)];
        let table = Table::new(
            "t",
            "T",
            vec![Metric::new("real time", Unit::Nanoseconds)],
            &samples,
            1,
            1,
        );
        let lab = Lab::new(Options::quiet()).expect("a lab");
        let mut report = experiments::ALL[0].empty_report(&lab);
        report
            .add_test(&table, "real time", ["bare", "alike"])
            .expect("a test");
        report
            .add_test(&table, "real time", ["bare", "dearer"])
            .expect("a test");
        for figure in [PlotKind::Boxes, PlotKind::Ratios] {
            let words = format!("{:?}", of_figures(&table.clone().plotted_as(figure)));
            assert_eq!(words.matches("no difference seen").count(), 1, "{words}");
        }
        let all = super::of(&report, &table);
        let [figures, tests] = &all[..] else {
            panic!("{all:?}")
        };
        assert!(
            figures.rows[1][6].ends_with("no difference seen"),
            "{figures:?}"
        );
        assert!(figures.rows[2][6].starts_with("1.5"), "{figures:?}");
        assert_eq!(tests.rows[0][0], "real time: alike minus bare");
        assert!(
            tests.rows[0][1].starts_with("0.10") && tests.rows[0][1].ends_with("ns"),
            "{tests:?}"
        );
        assert!(tests.rows[0][2].starts_with("0.010"), "{tests:?}");
        assert_eq!(tests.rows[0][6], "no difference seen");
        assert!(tests.rows[1][1].starts_with("500.7 ["), "{tests:?}");
        assert_eq!(&tests.rows[1][5..], ["< 0.0001", "the means differ"]);
    }
}
