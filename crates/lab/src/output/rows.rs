//! Tables as rows of words, for Markdown and HTML alike.

use super::words::Shown;
use crate::table::{Figure, Table};

/// One table in words: a heading, columns, rows. The first column is text, the others numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    pub heading: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// A table for each metric, or one for all if the table is drawn as ratios.
pub fn of(table: &Table) -> Vec<Rows> {
    if table.figure == Figure::Ratios {
        return vec![by_metric(table)];
    }
    if let Figure::Lines { x, .. } = &table.figure
        && table.variants.iter().flat_map(|variant| &variant.figures).all(|figures| figures.n == 1)
    {
        return (0..table.metrics.len()).map(|metric| by_x(table, metric, x)).collect();
    }
    (0..table.metrics.len()).map(|metric| by_variant(table, metric)).collect()
}

/// How numbers of one metric are shown.
pub fn shown(table: &Table, metric: usize) -> Shown {
    let medians = table.variants.iter().map(|variant| variant.figures[metric].median);
    Shown::of(table.metrics[metric].unit, medians.fold(f64::INFINITY, f64::min))
}

fn by_variant(table: &Table, metric: usize) -> Rows {
    let shown = shown(table, metric);
    let of_tails = table.variants.iter().any(|variant| variant.figures[metric].n >= 1000);
    let mut columns: Vec<String> = ["", "n", "median", "mean", "deviation", "p99"].map(str::to_owned).into();
    if of_tails {
        columns.push("p99.9".to_owned());
    }
    let compared = table.variants.iter().any(|variant| variant.figures[metric].ratio.is_some());
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
            row.extend([figures.median, figures.mean, figures.deviation, figures.p99].map(|value| shown.number(value)));
            if of_tails {
                row.push(shown.number(figures.p999));
            }
            if compared {
                row.push(match figures.ratio {
                    Some(ratio) => match &variant.against {
                        Some(name) => format!("{ratio} to {name}"),
                        None => ratio.to_string(),
                    },
                    None => if index == 0 { "1" } else { "" }.to_owned(),
                });
            }
            row
        })
        .collect();
    Rows { heading: shown.heading(&table.metrics[metric].name), columns, rows }
}

/// Single numbers: a row for each x, a column for each line.
fn by_x(table: &Table, metric: usize, x: &str) -> Rows {
    let shown = shown(table, metric);
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
        let mut of_line = table.variants.iter().filter(|variant| variant.series.as_deref().unwrap_or_default() == line);
        of_line.find(|variant| variant.x == Some(x)).map(|variant| shown.number(variant.figures[metric].median))
    };
    let row = |x: &f64| {
        let cells = lines.iter().map(|line| at(line, *x).unwrap_or_default());
        std::iter::once(x.to_string()).chain(cells).collect()
    };
    Rows {
        heading: shown.heading(&table.metrics[metric].name),
        columns: std::iter::once(x).chain(lines.iter().copied()).map(str::to_owned).collect(),
        rows: xs.iter().map(row).collect(),
    }
}

fn by_metric(table: &Table) -> Rows {
    let mut columns = vec![String::new()];
    for (index, variant) in table.variants.iter().enumerate() {
        columns.push(variant.name.clone());
        if index > 0 {
            columns.push("ratio [95 %]".to_owned());
        }
    }
    let rows = (0..table.metrics.len())
        .map(|metric| {
            let shown = shown(table, metric);
            let mut row = vec![shown.heading(&table.metrics[metric].name)];
            for (index, variant) in table.variants.iter().enumerate() {
                let figures = &variant.figures[metric];
                row.push(shown.number(figures.median));
                if index > 0 {
                    row.push(figures.ratio.map(|ratio| ratio.to_string()).unwrap_or_default());
                }
            }
            row
        })
        .collect();
    Rows { heading: "medians".to_owned(), columns, rows }
}
