//! The result of a comparison.

use crate::statistics::{self, Centre, Interval};
use serde::Serialize;

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Time.
    Nanoseconds,
    /// Cycles of the CPU's time stamp counter.
    Cycles,
    /// Events per second.
    PerSecond,
    /// Memory.
    Bytes,
    /// A plain number.
    Count,
}

/// A quantity that each run of a variant measures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// The metric's name, for example "real time".
    pub name: String,
    /// The metric's unit.
    pub unit: Unit,
    /// The value that ratios compare.
    pub centre: Centre,
}

impl Metric {
    /// Creates a metric whose ratios compare medians.
    pub fn new(name: impl Into<String>, unit: Unit) -> Metric {
        Metric {
            name: name.into(),
            unit,
            centre: Centre::Median,
        }
    }

    /// Makes the ratios compare means instead of medians.
    #[must_use]
    pub fn by_mean(mut self) -> Metric {
        self.centre = Centre::Mean;
        self
    }
}

/// The kind of plot of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlotKind {
    /// A box for each variant, with quartiles, whiskers to the last sample within 1.5 times the
    /// box, and the other samples as points.
    #[default]
    Boxes,
    /// Medians over [`MeasuredVariant::x`], one line for each [`MeasuredVariant::series`].
    Lines {
        /// The label of the x axis.
        x: String,
        /// Whether the x axis is logarithmic.
        logarithmic: bool,
    },
    /// A bar for each variant and metric, which shows the ratio to the first variant. This suits
    /// many metrics and few variants. The text table then has a row for each metric.
    Ratios,
    /// No plot.
    None,
}

/// The raw samples of one variant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// The variant's name.
    pub name: String,
    /// A short description; may be empty.
    pub about: String,
    /// See [`PlotKind::Lines`].
    pub series: Option<String>,
    /// See [`PlotKind::Lines`].
    pub x: Option<f64>,
    /// The variant to compare with; `None` means the first variant.
    pub against: Option<String>,
    /// All samples of each metric, in chronological order.
    pub values: Vec<Vec<f64>>,
}

/// A variant that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingVariant {
    /// The variant's name.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// The summary of one variant for one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The number of samples.
    pub n: usize,
    /// The median.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation (n - 1).
    pub deviation: f64,
    /// The minimum.
    pub min: f64,
    /// The first quartile.
    pub q1: f64,
    /// The third quartile.
    pub q3: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The maximum.
    pub max: f64,
    /// The ratio to the first variant, or to [`MeasuredVariant::against`], with its 95 % bootstrap
    /// interval. The first variant has no ratio.
    pub ratio: Option<Interval>,
    /// All samples in chronological order; empty if there are more than 5000.
    pub samples: Vec<f64>,
}

/// The maximum number of samples that a result keeps.
const MAX_KEPT_SAMPLES: usize = 5000;

/// A variant that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredVariant {
    /// The variant's name.
    pub name: String,
    /// A short description; may be empty.
    pub about: String,
    /// See [`PlotKind::Lines`].
    pub series: Option<String>,
    /// See [`PlotKind::Lines`].
    pub x: Option<f64>,
    /// The variant to compare with; `None` means the first variant.
    pub against: Option<String>,
    /// A summary for each metric, in the order of the metrics.
    pub figures: Vec<Summary>,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// The name in file names: lower case, digits and dashes.
    pub id: String,
    /// The title for readers.
    pub title: String,
    /// The kind of plot.
    pub figure: PlotKind,
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// The number of consecutive samples of one variant in a round.
    pub block: usize,
    /// The measured variants. The first is the base of comparison for the others.
    pub variants: Vec<MeasuredVariant>,
    /// The variants that were not measured.
    pub missing: Vec<MissingVariant>,
}

impl Table {
    /// Makes a table of samples, for experiments that do not use a
    /// [`Comparison`](crate::Comparison). Each round yielded `block` samples of each variant. Only
    /// the bounds of ratios depend on `seed`.
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
            .map(|(index, variant)| MeasuredVariant {
                name: variant.name.clone(),
                about: variant.about.clone(),
                series: variant.series.clone(),
                x: variant.x,
                against: variant.against.clone(),
                figures: metrics
                    .iter()
                    .enumerate()
                    .map(|(at, metric)| {
                        let of =
                            |samples: &Samples| samples.values.get(at).cloned().unwrap_or_default();
                        let base = match &variant.against {
                            Some(name) => samples.iter().find(|other| other.name == *name).map(of),
                            None => (index > 0).then(|| of(&samples[0])),
                        };
                        summarise(of(variant), base.as_deref(), block, metric.centre, seed)
                    })
                    .collect(),
            })
            .collect();
        Table {
            id: id.into(),
            title: title.into(),
            figure: PlotKind::default(),
            metrics,
            block,
            variants,
            missing: Vec::new(),
        }
    }

    /// Sets the kind of plot.
    #[must_use]
    pub fn plotted_as(mut self, figure: PlotKind) -> Table {
        self.figure = figure;
        self
    }

    /// The summary of a variant for a metric.
    pub fn figures(&self, variant: &str, metric: &str) -> Option<&Summary> {
        let at = self.metrics.iter().position(|known| known.name == metric)?;
        self.variants
            .iter()
            .find(|known| known.name == variant)?
            .figures
            .get(at)
    }

    /// The ratio of a variant to the variant with which it is compared.
    pub fn ratio(&self, variant: &str, metric: &str) -> Option<Interval> {
        self.figures(variant, metric)?.ratio
    }
}

fn summarise(
    samples: Vec<f64>,
    base: Option<&[f64]>,
    block: usize,
    centre: Centre,
    seed: u64,
) -> Summary {
    let mut sorted = samples.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |part| statistics::quantile(&sorted, part);
    Summary {
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
        samples: if samples.len() <= MAX_KEPT_SAMPLES {
            samples
        } else {
            Vec::new()
        },
    }
}
