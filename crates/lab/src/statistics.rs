//! Statistics of samples.
//!
//! The samples of a comparison come in *rounds*: in each round every variant has a few runs. Runs
//! of one round are close in time, so a drift of the machine's speed affects them alike. A
//! bootstrap of single runs would ignore this. Its intervals would be too narrow, and it would not
//! benefit from the fact that variants were measured side by side. So the bootstrap draws whole
//! rounds, with the runs of all variants.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The number of resamples in a bootstrap.
const BOOTSTRAP_DRAWS: usize = 1000;

/// The kind of central value of samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Centre {
    /// The median, which a few outliers do not change.
    #[default]
    Median,
    /// The arithmetic mean.
    Mean,
}

impl Centre {
    /// The central value of these samples, or NaN without samples. Reorders the samples.
    pub fn of(self, samples: &mut [f64]) -> f64 {
        match self {
            Centre::Mean => mean(samples),
            Centre::Median if samples.is_empty() => f64::NAN,
            Centre::Median => {
                let middle = samples.len() / 2;
                let odd = samples.len() % 2 == 1;
                let (below, &mut upper, _) = samples.select_nth_unstable_by(middle, f64::total_cmp);
                if odd {
                    upper
                } else {
                    (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0
                }
            }
        }
    }
}

/// The arithmetic mean, or NaN if there are no samples.
pub fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// The standard deviation of a sample (n - 1); 0 for fewer than two values.
pub fn deviation(samples: &[f64]) -> f64 {
    if samples.len() < 2 {
        0.0
    } else {
        variance(samples).sqrt()
    }
}

fn variance(samples: &[f64]) -> f64 {
    let mean = mean(samples);
    samples
        .iter()
        .map(|sample| (sample - mean).powi(2))
        .sum::<f64>()
        / (samples.len() as f64 - 1.0)
}

/// The quantile `part` (0 to 1) of samples in ascending order, interpolated between the two nearest
/// samples (type 7 in R), or NaN without samples.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = part.clamp(0.0, 1.0) * last as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64)
}

/// A value with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Interval {
    /// The measured value.
    pub value: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The interval's width determines how many decimal places make sense.
        let width = self.high - self.low;
        let places = if width < 0.002 {
            4
        } else if width < 0.05 {
            3
        } else {
            2
        };
        write!(
            f,
            "{:.places$} [{:.places$}, {:.places$}]",
            self.value, self.low, self.high
        )
    }
}

/// The ratio of the centre of `samples` to that of `base`, with its 95 % percentile bootstrap
/// interval.
///
/// Both are in chronological order, with `block` runs for each round; the last round may be
/// shorter. If both have the same number of rounds, the same rounds are drawn from both. Otherwise
/// rounds are drawn separately. Returns `None` if either has no samples, or if the base's centre is
/// 0.
pub fn ratio(
    samples: &[f64],
    base: &[f64],
    block: usize,
    centre: Centre,
    seed: u64,
) -> Option<Interval> {
    bootstrap([samples, base], block, centre, seed, |of, base| of / base)
}

/// Like [`ratio`], but for the difference: the centre of `samples` minus that of `base`.
pub fn difference(
    samples: &[f64],
    base: &[f64],
    block: usize,
    centre: Centre,
    seed: u64,
) -> Option<Interval> {
    bootstrap([samples, base], block, centre, seed, |of, base| of - base)
}

/// Compares the centres of samples and of base samples; see [`ratio`].
fn bootstrap(
    [samples, base]: [&[f64]; 2],
    block: usize,
    centre: Centre,
    seed: u64,
    compare: fn(f64, f64) -> f64,
) -> Option<Interval> {
    let of = |samples: &mut Vec<f64>| centre.of(samples);
    let value = compare(of(&mut samples.to_vec()), of(&mut base.to_vec()));
    if !value.is_finite() {
        return None;
    }
    let rounds = |all: &[f64]| all.len().div_ceil(block.max(1));
    let paired = rounds(samples) == rounds(base);
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut of_samples, mut of_base) = (
        Vec::with_capacity(samples.len()),
        Vec::with_capacity(base.len()),
    );
    let mut drawn: Vec<f64> = (0..BOOTSTRAP_DRAWS)
        .map(|_| {
            of_samples.clear();
            of_base.clear();
            for _ in 0..rounds(samples) {
                let round = random.usize(..rounds(samples));
                of_samples.extend_from_slice(round_of(samples, block, round));
                if paired {
                    of_base.extend_from_slice(round_of(base, block, round));
                }
            }
            for _ in 0..if paired { 0 } else { rounds(base) } {
                of_base.extend_from_slice(round_of(base, block, random.usize(..rounds(base))));
            }
            compare(of(&mut of_samples), of(&mut of_base))
        })
        .filter(|compared| compared.is_finite())
        .collect();
    drawn.sort_unstable_by(f64::total_cmp);
    (!drawn.is_empty()).then(|| Interval {
        value,
        low: quantile(&drawn, 0.025),
        high: quantile(&drawn, 0.975),
    })
}

fn round_of(all: &[f64], block: usize, round: usize) -> &[f64] {
    let block = block.max(1);
    &all[round * block..((round + 1) * block).min(all.len())]
}

/// Welch's t-test of the equality of two means; the variances may differ.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Welch {
    /// The statistic, which is negative if the first group's mean is the smaller one.
    pub t: f64,
    /// The degrees of freedom (Welch-Satterthwaite).
    pub degrees: f64,
    /// The two-sided probability of a |t| at least this large if the means are equal.
    pub p: f64,
    /// The first group's mean minus the second's, with its 95 % confidence interval.
    pub difference: Interval,
}

/// Computes [`Welch`]. Returns `None` for fewer than two samples in a group, or if nothing varies.
pub fn welch(a: &[f64], b: &[f64]) -> Option<Welch> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (of_a, of_b) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
    let both = of_a + of_b;
    let value = mean(a) - mean(b);
    let t = value / both.sqrt();
    let degrees =
        both * both / (of_a * of_a / (a.len() as f64 - 1.0) + of_b * of_b / (b.len() as f64 - 1.0));
    let distribution = StudentsT::new(0.0, 1.0, degrees).ok()?;
    t.is_finite().then(|| {
        let reach = distribution.inverse_cdf(0.975) * both.sqrt();
        let difference = Interval {
            value,
            low: value - reach,
            high: value + reach,
        };
        Welch {
            t,
            degrees,
            p: 2.0 * distribution.cdf(-t.abs()),
            difference,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by, "{a} is not {b}");
    }

    #[test]
    fn centre_of_samples_is_median_or_mean() {
        assert_eq!(Centre::Median.of(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(Centre::Median.of(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(Centre::Median.of(&mut [7.0]), 7.0);
        assert_eq!(Centre::Mean.of(&mut [1.0, 2.0, 6.0]), 3.0);
        assert!(Centre::Median.of(&mut []).is_nan());
        assert!(Centre::Mean.of(&mut []).is_nan());
    }

    #[test]
    fn quantiles_agree_with_r() {
        // R: quantile(c(1, 2, 4, 8, 16), c(0, .25, .5, .9, .99, 1))
        let sorted = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (part, expected) in [
            (0.0, 1.0),
            (0.25, 2.0),
            (0.5, 4.0),
            (0.9, 12.8),
            (0.99, 15.68),
            (1.0, 16.0),
        ] {
            close(quantile(&sorted, part), expected, 1e-12);
        }
        assert!(quantile(&[], 0.5).is_nan());
        // sd(c(2, 4, 4, 4, 5, 5, 7, 9))
        close(
            deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]),
            2.138_089_935,
            1e-9,
        );
        assert_eq!(deviation(&[2.0]), 0.0);
    }

    #[test]
    fn welch_agrees_with_scipy() {
        // Expected values: SciPy's ttest_ind(a, b, equal_var=False).
        let a1 = [
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ];
        let a2 = [
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5,
            25.1,
        ];
        let found = welch(&a1, &a2).expect("a test");
        close(found.t, -2.889_482_051_609_62, 1e-9);
        close(found.degrees, 27.912_749_263_748_25, 1e-9);
        close(found.p, 0.007_382_404_993_763_633, 1e-9);
        let b1 = [17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8];
        let b2 = [
            21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5,
            23.6, 21.5, 22.5, 23.5, 21.5, 21.8,
        ];
        let found = welch(&b1, &b2).expect("a test");
        close(found.t, -1.565_433_523_598_503_7, 1e-9);
        close(found.degrees, 9.904_741_248_650_831, 1e-9);
        close(found.p, 0.148_841_696_605_328_17, 1e-9);
    }

    #[test]
    fn welch_difference_agrees_with_r() {
        // Student's sleep data, the example of R's manual: t.test(extra ~ group, data = sleep)
        // prints t = -1.8608, df = 17.776, p-value = 0.07939, and the 95 percent confidence
        // interval -3.3654832 to 0.2054832.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = welch(&first, &second).expect("a test");
        close(found.t, -1.8608, 5e-5);
        close(found.degrees, 17.776, 5e-4);
        close(found.p, 0.07939, 5e-6);
        close(found.difference.value, -1.58, 1e-9);
        close(found.difference.low, -3.365_483_2, 5e-7);
        close(found.difference.high, 0.205_483_2, 5e-7);
    }

    #[test]
    fn welch_of_constant_or_single_samples_is_none() {
        assert!(welch(&[1.0], &[1.0, 2.0]).is_none());
        assert!(welch(&[1.0, 1.0], &[1.0, 1.0]).is_none());
        assert!(welch(&[1.0, 1.0], &[2.0, 2.0]).is_none());
    }

    #[test]
    fn bootstrap_interval_covers_the_true_ratio() {
        // Draw samples from known distributions 50 times. About 95 % of the intervals must contain
        // the true ratio. The seeds are fixed, so the result is deterministic.
        let mut covered = 0;
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut draw = |middle: f64| -> Vec<f64> {
                (0..120)
                    .map(|_| {
                        middle
                            * (0.9 + 0.2 * random.f64())
                            * if random.f64() < 0.05 { 3.0 } else { 1.0 }
                    })
                    .collect()
            };
            let (base, samples) = (draw(100.0), draw(120.0));
            let interval = ratio(&samples, &base, 4, Centre::Median, seed).expect("a ratio");
            assert!(
                interval.low <= interval.value && interval.value <= interval.high,
                "{interval:?}"
            );
            covered += usize::from((interval.low..=interval.high).contains(&1.2));
        }
        assert!((43..=50).contains(&covered), "{covered} of 50");
    }

    #[test]
    fn difference_is_that_of_the_centres_and_drifts_cancel() {
        // Each round is slower than the round before, and the second variant always takes 5 more.
        let base: Vec<f64> = (0..100).map(|n| 100.0 + f64::from(n / 4)).collect();
        let samples: Vec<f64> = base.iter().map(|sample| sample + 5.0).collect();
        let found = difference(&samples, &base, 4, Centre::Median, 1).expect("a difference");
        for value in [found.value, found.low, found.high] {
            close(value, 5.0, 1e-9);
        }
        assert!(difference(&samples, &[], 4, Centre::Median, 1).is_none());
    }

    #[test]
    fn bootstrap_depends_only_on_its_seed() {
        let base: Vec<f64> = (0..50).map(|n| 10.0 + f64::from(n % 7)).collect();
        let samples: Vec<f64> = (0..50).map(|n| 12.0 + f64::from(n % 5)).collect();
        let of = |seed| ratio(&samples, &base, 5, Centre::Mean, seed);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        // If the sizes differ, rounds are drawn separately.
        assert!(ratio(&samples[..30], &base, 5, Centre::Median, 1).is_some());
        assert!(ratio(&samples, &[], 5, Centre::Median, 1).is_none());
        assert!(ratio(&samples, &[0.0], 5, Centre::Median, 1).is_none());
    }

    #[test]
    fn bootstrap_of_drifting_rounds_stays_narrow() {
        // The machine repeatedly slows down by half and recovers. The ratio is always 1.1.
        let base: Vec<f64> = (0..40)
            .map(|round| 100.0 * (1.0 + f64::from(round % 8) / 16.0))
            .collect();
        let samples: Vec<f64> = base.iter().map(|base| base * 1.1).collect();
        let interval = ratio(&samples, &base, 1, Centre::Mean, 3).expect("a ratio");
        close(interval.low, 1.1, 1e-9);
        close(interval.high, 1.1, 1e-9);
    }
}
