//! What a comparison found.

use crate::statistics::{self, Centre, Interval};
use serde::Serialize;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Time.
    Nanoseconds,
    /// Clock cycles of the CPU (of its time stamp counter).
    Cycles,
    /// So many in a second.
    PerSecond,
    /// Memory.
    Bytes,
    /// Just a number.
    Count,
}

/// One thing that each run of a variant measures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// For example "real time".
    pub name: String,
    /// What its numbers count.
    pub unit: Unit,
    /// What ratios are made of.
    pub centre: Centre,
}

impl Metric {
    /// Ratios are those of medians.
    pub fn new(name: impl Into<String>, unit: Unit) -> Metric {
        Metric { name: name.into(), unit, centre: Centre::Median }
    }

    /// Ratios are those of means.
    #[must_use]
    pub fn by_mean(mut self) -> Metric {
        self.centre = Centre::Mean;
        self
    }
}

/// How a table is drawn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// A box for each variant: quartiles, whiskers to the last sample within 1.5 times the box, the rest as points.
    #[default]
    Boxes,
    /// Medians over [`Measured::x`], one line for each [`Measured::series`].
    Lines {
        /// What x is.
        x: String,
        /// Each step to the right is a factor.
        logarithmic: bool,
    },
    /// One bar for each variant in each metric: ratios to the first variant. For many metrics and few variants; the table
    /// in words then has a row for each metric.
    Ratios,
    /// None.
    None,
}

/// The samples of one variant, before anything is made of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// The variant.
    pub name: String,
    /// What it is, in a few words; may be empty.
    pub about: String,
    /// See [`Figure::Lines`].
    pub series: Option<String>,
    /// See [`Figure::Lines`].
    pub x: Option<f64>,
    /// The variant that it is compared with; `None`: the first one.
    pub against: Option<String>,
    /// For each metric, all samples in order of time.
    pub values: Vec<Vec<f64>>,
}

/// A variant that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The variant.
    pub name: String,
    /// Why it was not.
    pub why: String,
}

/// What one variant did in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Number of samples.
    pub n: usize,
    /// The middle one.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// Standard deviation (n - 1).
    pub deviation: f64,
    /// The least.
    pub min: f64,
    /// First quartile.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
    /// 99 of 100 are below it.
    pub p99: f64,
    /// 999 of 1000 are below it.
    pub p999: f64,
    /// The greatest.
    pub max: f64,
    /// To the first variant, or to [`Measured::against`], with its 95 % bootstrap interval; the first variant itself
    /// has none.
    pub ratio: Option<Interval>,
    /// All samples in order of time, unless there are very many.
    pub samples: Vec<f64>,
}

/// Beyond so many, samples are left out of results.
const KEPT: usize = 5000;

/// One variant that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// What it is, in a few words; may be empty.
    pub about: String,
    /// See [`Figure::Lines`].
    pub series: Option<String>,
    /// See [`Figure::Lines`].
    pub x: Option<f64>,
    /// The variant that it is compared with; `None`: the first one.
    pub against: Option<String>,
    /// In the order of the metrics.
    pub figures: Vec<Figures>,
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// For file names: lower case, digits and dashes.
    pub id: String,
    /// For a person.
    pub title: String,
    /// How it is drawn.
    pub figure: Figure,
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// Samples in a row of one variant; a round has one such block of each.
    pub block: usize,
    /// Those that were measured; the first is what others are compared with.
    pub variants: Vec<Measured>,
    /// Those that were not.
    pub missing: Vec<Missing>,
}

impl Table {
    /// Makes a table of samples that come from elsewhere than a [`Comparison`](crate::Comparison). Each round gave
    /// `block` samples of each variant. Figures do not depend on `seed` except for the bounds of ratios.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        metrics: Vec<Metric>,
        samples: &[Samples],
        block: usize,
        seed: u64,
    ) -> Table {
        let variants = samples
            .iter()
            .enumerate()
            .map(|(index, variant)| Measured {
                name: variant.name.clone(),
                about: variant.about.clone(),
                series: variant.series.clone(),
                x: variant.x,
                against: variant.against.clone(),
                figures: metrics
                    .iter()
                    .enumerate()
                    .map(|(at, metric)| {
                        let of = |samples: &Samples| samples.values.get(at).cloned().unwrap_or_default();
                        let base = match &variant.against {
                            Some(name) => samples.iter().find(|other| other.name == *name).map(of),
                            None => (index > 0).then(|| of(&samples[0])),
                        };
                        figures(of(variant), base.as_deref(), block, metric.centre, seed)
                    })
                    .collect(),
            })
            .collect();
        Table {
            id: id.into(),
            title: title.into(),
            figure: Figure::default(),
            metrics,
            block,
            variants,
            missing: Vec::new(),
        }
    }

    /// How it is drawn.
    #[must_use]
    pub fn drawn(mut self, figure: Figure) -> Table {
        self.figure = figure;
        self
    }

    /// What a variant did in a metric.
    pub fn figures(&self, variant: &str, metric: &str) -> Option<&Figures> {
        let at = self.metrics.iter().position(|known| known.name == metric)?;
        self.variants.iter().find(|known| known.name == variant)?.figures.get(at)
    }

    /// The ratio of a variant to the first one, or to the one that it is compared with.
    pub fn ratio(&self, variant: &str, metric: &str) -> Option<Interval> {
        self.figures(variant, metric)?.ratio
    }
}

fn figures(samples: Vec<f64>, base: Option<&[f64]>, block: usize, centre: Centre, seed: u64) -> Figures {
    let mut sorted = samples.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |part| statistics::quantile(&sorted, part);
    Figures {
        n: samples.len(),
        median: at(0.5),
        mean: statistics::mean(&samples),
        deviation: statistics::deviation(&samples),
        min: at(0.0),
        q1: at(0.25),
        q3: at(0.75),
        p99: at(0.99),
        p999: at(0.999),
        max: at(1.0),
        ratio: base.and_then(|base| statistics::ratio(&samples, base, block, centre, seed)),
        samples: if samples.len() <= KEPT { samples } else { Vec::new() },
    }
}
