//! Measures alternating variants.

use crate::table::{Metric, MissingVariant, PlotKind, Samples, Table};
use crate::{Error, Lab, interrupt};
use std::time::{Duration, Instant};

/// The amount of measurement and its division into rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The number of rounds. Each round has one block of each variant, in a new random order.
    pub rounds: usize,
    /// The number of samples in one block.
    pub block: usize,
    /// The number of uncounted runs before each block, which the previous variant still affects.
    pub settle_runs: usize,
    /// The number of runs of each variant before the first round.
    pub warm_up_runs: usize,
    /// The time after which no new round begins.
    pub budget: Duration,
    /// The number of rounds that run even beyond the budget.
    pub min_rounds: usize,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            rounds: 30,
            block: 1,
            settle_runs: 0,
            warm_up_runs: 1,
            budget: Duration::from_secs(30),
            min_rounds: 3,
        }
    }
}

type Run<'a> = Box<dyn FnMut() -> Result<Vec<f64>, Error> + 'a>;

/// One way to do the compared work.
pub struct Variant<'a> {
    name: String,
    about: String,
    series: Option<String>,
    x: Option<f64>,
    against: Option<String>,
    optional: bool,
    run: Run<'a>,
}

impl<'a> Variant<'a> {
    /// Creates a variant. `run` does the work once and returns one number for each metric, in the
    /// order of the metrics.
    pub fn new(
        name: impl Into<String>,
        run: impl FnMut() -> Result<Vec<f64>, Error> + 'a,
    ) -> Variant<'a> {
        Variant {
            name: name.into(),
            about: String::new(),
            series: None,
            x: None,
            against: None,
            optional: false,
            run: Box::new(run),
        }
    }

    /// Creates a variant whose only metric is the real time of `run`, in nanoseconds.
    pub fn timed(
        name: impl Into<String>,
        mut run: impl FnMut() -> Result<(), Error> + 'a,
    ) -> Variant<'a> {
        Variant::new(name, move || {
            let begin = Instant::now();
            run()?;
            Ok(vec![begin.elapsed().as_nanos() as f64])
        })
    }

    /// Describes the variant in a few words.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Variant<'a> {
        self.about = about.into();
        self
    }

    /// Sets the variant's point in a line plot.
    #[must_use]
    pub fn at(mut self, series: impl Into<String>, x: f64) -> Variant<'a> {
        (self.series, self.x) = (Some(series.into()), Some(x));
        self
    }

    /// Compares with the variant of this name instead of the first variant.
    #[must_use]
    pub fn against(mut self, name: impl Into<String>) -> Variant<'a> {
        self.against = Some(name.into());
        self
    }

    /// If the variant fails, lists it as missing with its error and continues with the others.
    #[must_use]
    pub fn optional(mut self) -> Variant<'a> {
        self.optional = true;
        self
    }
}

/// Variants that are measured alternately and compared with the first variant.
pub struct Comparison<'a> {
    id: String,
    title: String,
    figure: PlotKind,
    metrics: Vec<Metric>,
    variants: Vec<Variant<'a>>,
    missing: Vec<MissingVariant>,
    plan: Plan,
}

impl<'a> Comparison<'a> {
    /// Creates a comparison. `id` appears in file names, so it consists of lower-case letters,
    /// digits and dashes and is unique within the experiment.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Comparison<'a> {
        Comparison {
            id: id.into(),
            title: title.into(),
            figure: PlotKind::default(),
            metrics: Vec::new(),
            variants: Vec::new(),
            missing: Vec::new(),
            plan: Plan::default(),
        }
    }

    /// Adds a metric, which each run measures.
    #[must_use]
    pub fn metric(mut self, metric: Metric) -> Comparison<'a> {
        self.metrics.push(metric);
        self
    }

    /// Adds a variant.
    #[must_use]
    pub fn variant(mut self, variant: Variant<'a>) -> Comparison<'a> {
        self.variants.push(variant);
        self
    }

    /// Lists a variant that cannot be measured here.
    #[must_use]
    pub fn missing(mut self, name: impl Into<String>, why: impl Into<String>) -> Comparison<'a> {
        self.missing.push(MissingVariant {
            name: name.into(),
            why: why.into(),
        });
        self
    }

    /// Sets the amount of measurement.
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Comparison<'a> {
        self.plan = plan;
        self
    }

    /// Sets the kind of plot.
    #[must_use]
    pub fn plotted_as(mut self, figure: PlotKind) -> Comparison<'a> {
        self.figure = figure;
        self
    }

    /// Measures and makes a table of the samples.
    ///
    /// # Errors
    /// A variant that is not [optional](Variant::optional) failed, or no variant is left.
    pub fn measure(mut self, lab: &Lab) -> Result<Table, Error> {
        let (metrics, figure) = (
            std::mem::take(&mut self.metrics),
            std::mem::take(&mut self.figure),
        );
        let (id, title, block) = (self.id.clone(), self.title.clone(), self.plan.block.max(1));
        self.metrics.clone_from(&metrics);
        let (samples, missing) = self.samples(lab)?;
        let mut table =
            Table::new(id, title, metrics, &samples, block, lab.seed()).plotted_as(figure);
        table.missing = missing;
        Ok(table)
    }

    /// Measures and returns the samples, from which a [`Table`] can be made, together with samples
    /// of other comparisons if desired.
    ///
    /// # Errors
    /// The errors of [`Comparison::measure`].
    pub fn samples(mut self, lab: &Lab) -> Result<(Vec<Samples>, Vec<MissingVariant>), Error> {
        let plan = match lab.options().budget {
            Some(budget) => Plan {
                rounds: usize::MAX,
                budget,
                ..self.plan
            },
            None => self.plan,
        };
        let plan = Plan {
            rounds: plan.rounds.max(1),
            block: plan.block.max(1),
            ..plan
        };
        let progress = lab.progress(&self.title);
        let mut random = fastrand::Rng::with_seed(lab.seed());
        let mut samples: Vec<Samples> = self
            .variants
            .iter()
            .map(|variant| Samples {
                name: variant.name.clone(),
                about: variant.about.clone(),
                series: variant.series.clone(),
                x: variant.x,
                against: variant.against.clone(),
                values: vec![Vec::new(); self.metrics.len()],
            })
            .collect();
        let mut failed: Vec<Option<String>> = vec![None; self.variants.len()];
        for (at, failed) in failed.iter_mut().enumerate() {
            progress.show(&format!("warming up {}", self.variants[at].name), 0.0);
            for _ in 0..plan.warm_up_runs {
                self.run(at, failed)?;
            }
        }
        let begin = Instant::now();
        let mut order: Vec<usize> = (0..self.variants.len()).collect();
        for round in 0..plan.rounds {
            if round >= plan.min_rounds && begin.elapsed() >= plan.budget {
                break;
            }
            let of_time = begin.elapsed().as_secs_f64() / plan.budget.as_secs_f64().max(1e-3);
            let done = (round as f64 / plan.rounds as f64).max(if round < plan.min_rounds {
                0.0
            } else {
                of_time
            });
            random.shuffle(&mut order);
            for &at in &order {
                progress.show(&self.variants[at].name, done);
                for turn in 0..plan.settle_runs + plan.block {
                    if let Some(measured) = self.run(at, &mut failed[at])?
                        && turn >= plan.settle_runs
                    {
                        for (values, value) in samples[at].values.iter_mut().zip(measured) {
                            values.push(value);
                        }
                    }
                }
            }
        }
        let mut missing = std::mem::take(&mut self.missing);
        for (variant, why) in self.variants.iter().zip(&failed) {
            missing.extend(why.clone().map(|why| MissingVariant {
                name: variant.name.clone(),
                why,
            }));
        }
        let mut ended = failed.iter();
        samples.retain(|_| ended.next().is_some_and(Option::is_none));
        if samples.is_empty() {
            let why: Vec<String> = missing
                .iter()
                .map(|one| format!("{}: {}", one.name, one.why))
                .collect();
            return Err(Error::other(format!(
                "{}: nothing could be measured: {}",
                self.title,
                why.join("; ")
            )));
        }
        progress.done(begin.elapsed());
        Ok((samples, missing))
    }

    /// Runs a variant once. Returns `None` if it fails or has failed before.
    fn run(&mut self, at: usize, failed: &mut Option<String>) -> Result<Option<Vec<f64>>, Error> {
        if failed.is_some() {
            return Ok(None);
        }
        interrupt::check()?;
        let variant = &mut self.variants[at];
        match (variant.run)() {
            Ok(measured) if measured.len() == self.metrics.len() => Ok(Some(measured)),
            Ok(measured) => Err(Error::other(format!(
                "{}: {} measured {} numbers for {} metrics",
                self.title,
                variant.name,
                measured.len(),
                self.metrics.len()
            ))),
            // Ctrl-C also reaches the variant's processes, so the error is a consequence of the
            // interrupt.
            Err(_) if interrupt::check().is_err() => Err(Error::Interrupted),
            Err(error) if variant.optional => {
                *failed = Some(error.to_string());
                Ok(None)
            }
            Err(error) => Err(Error::other(format!(
                "{}: {}: {error}",
                self.title, variant.name
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Unit};
    use std::cell::RefCell;

    #[test]
    fn variants_alternate_and_settling_runs_are_not_counted() {
        let lab = Lab::new(Options::quiet()).expect("a lab");
        let order = RefCell::new(Vec::new());
        let variant = |name: &'static str| {
            let (order, mut number) = (&order, 0.0);
            Variant::new(name, move || {
                order.borrow_mut().push(name);
                number += 1.0;
                Ok(vec![number])
            })
        };
        let table = Comparison::new("t", "T")
            .metric(Metric::new("number", Unit::Count))
            .variant(variant("a"))
            .variant(variant("b"))
            .plan(Plan {
                rounds: 4,
                block: 2,
                settle_runs: 1,
                warm_up_runs: 1,
                ..Plan::default()
            })
            .measure(&lab)
            .expect("measured");
        let samples = &table.figures("a", "number").expect("a").samples;
        assert_eq!(samples, &[3.0, 4.0, 6.0, 7.0, 9.0, 10.0, 12.0, 13.0]);
        assert_eq!(table.figures("b", "number").expect("b").n, 8);
        assert_eq!(&order.borrow()[..2], ["a", "b"]);
        assert!(
            order.borrow()[2..]
                .chunks(6)
                .all(|round| round.contains(&"a") && round.contains(&"b"))
        );
    }

    #[test]
    fn budget_replaces_the_number_of_rounds() {
        let measured = |budget| {
            let lab = Lab::new(Options {
                budget,
                ..Options::quiet()
            })
            .expect("a lab");
            let mut runs = 0;
            let tired = Variant::new("tired", || {
                runs += 1;
                if runs > 100 {
                    Err(Error::other("enough"))
                } else {
                    Ok(vec![1.0])
                }
            });
            let comparison = Comparison::new("t", "T")
                .metric(Metric::new("number", Unit::Count))
                .variant(tired);
            let plan = Plan {
                rounds: 5,
                warm_up_runs: 0,
                min_rounds: 2,
                ..Plan::default()
            };
            comparison
                .plan(plan)
                .measure(&lab)
                .map(|table| table.figures("tired", "number").map(|figures| figures.n))
        };
        assert_eq!(measured(None).expect("five"), Some(5));
        assert_eq!(measured(Some(Duration::ZERO)).expect("the least"), Some(2));
        assert!(
            measured(Some(Duration::from_secs(3600)))
                .expect_err("on and on")
                .to_string()
                .contains("enough")
        );
    }

    #[test]
    fn failing_variant_is_missing_or_ends_the_comparison() {
        let lab = Lab::new(Options::quiet()).expect("a lab");
        let mut runs = 0;
        let failing = || Variant::new("bad", || Err(Error::other("it is missing")));
        let fine = Variant::new("good", || Ok(vec![1.0]));
        let comparison = Comparison::new("t", "T").metric(Metric::new("number", Unit::Count));
        let table = comparison
            .variant(fine)
            .variant(failing().optional())
            .measure(&lab)
            .expect("measured");
        assert_eq!(
            table.missing,
            [MissingVariant {
                name: "bad".to_owned(),
                why: "it is missing".to_owned()
            }]
        );
        assert_eq!(table.variants.len(), 1);
        let late = Variant::new("late", || {
            runs += 1;
            if runs > 2 {
                Err(Error::other("enough"))
            } else {
                Ok(vec![1.0])
            }
        });
        let comparison = || Comparison::new("t", "T").metric(Metric::new("number", Unit::Count));
        assert!(comparison().variant(late).measure(&lab).is_err());
        let nothing = comparison().variant(failing().optional()).measure(&lab);
        assert!(
            nothing
                .expect_err("nothing")
                .to_string()
                .contains("it is missing")
        );
        let two = Variant::new("two", || Ok(vec![1.0, 2.0]));
        assert!(comparison().variant(two).measure(&lab).is_err());
    }
}
