//! The interpreter. It counts the steps and the bytes that a check uses.

use super::lexer::number_end;
use super::syntax::{Action, Command, Count, Expression, Form, Test, Variable};
use super::value::Value;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind, nfa::thompson};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Maximum number of steps: commands, operations, and compared bytes. They take a few seconds.
const MAX_STEPS: u64 = 50_000_000;
/// Maximum number of bytes of all variables.
const MAX_BYTES: u64 = 256 << 20;
/// Maximum size of a regular expression's automaton in bytes.
const MAX_AUTOMATON_BYTES: usize = 1 << 20;
/// Maximum number of different regular expressions. A program may create them.
const MAX_PATTERNS: usize = 100;
/// Maximum length of a regular expression. Its syntax tree is many times as large.
const MAX_PATTERN_BYTES: usize = 1 << 16;
/// A search may empty its cache of states this often before it must be efficient.
const MAX_CACHE_CLEARS: usize = 10;
/// An efficient search reads this many bytes for each state that it creates.
const LEAST_BYTES_PER_STATE: usize = 64;
/// Maximum number of bytes of a text that a message shows.
const MAX_SHOWN_BYTES: usize = 100;

/// Why an input is rejected, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {why} (line {program_line} of the program)")]
pub struct Rejection {
    /// The line of the input, counted from 1.
    pub line: usize,
    /// The column in bytes, counted from 1.
    pub column: usize,
    /// The line of the program.
    pub program_line: usize,
    /// The reason.
    pub why: Why,
}

/// Why an input is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The input does not have this form.
    #[error("{0}")]
    Mismatch(String),
    /// The program has a fault.
    #[error("fault of the program: {0}")]
    Program(String),
    /// The check uses too much time or memory.
    #[error("the check exceeds its limit of {0}")]
    Bound(&'static str),
}

impl Why {
    /// Whether the program does not match the input. Otherwise the program or a bound is at fault.
    pub fn is_mismatch(&self) -> bool {
        matches!(self, Why::Mismatch(_))
    }
}

/// Runs a program, and then expects the end of the input.
pub fn run(commands: &[Command], input: &[u8]) -> Result<(), Rejection> {
    let mut run = Run {
        input,
        at: 0,
        line: 1,
        variables: HashMap::new(),
        steps: 0,
        bytes: 0,
        patterns: HashMap::new(),
    };
    let done = run.commands(commands).and_then(|()| run.end());
    done.map_err(|why| {
        let before = &input[..run.at];
        let begin = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        Rejection {
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            column: 1 + run.at - begin,
            program_line: run.line,
            why,
        }
    })
}

type Done<T> = Result<T, Why>;
/// An element's indices in a variable; empty for a variable without indices.
type Index = Vec<KeyPart>;

/// A value that can be compared exactly.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum KeyPart {
    Number(num_bigint::BigInt),
    /// The bits of a floating-point number.
    Float(u64),
    Text(Arc<[u8]>),
}

impl From<&Value> for KeyPart {
    fn from(value: &Value) -> KeyPart {
        match value {
            Value::Integer(number) => KeyPart::Number(number.clone()),
            // 0.0 and -0.0 are equal.
            Value::Float(number) => KeyPart::Float((number + 0.0).to_bits()),
            Value::Text(text) => KeyPart::Text(Arc::clone(text)),
        }
    }
}

struct Run<'a> {
    input: &'a [u8],
    at: usize,
    /// The line of the program that runs.
    line: usize,
    variables: HashMap<String, BTreeMap<Index, Value>>,
    steps: u64,
    bytes: u64,
    patterns: HashMap<Vec<u8>, (DFA, Cache)>,
}

fn mismatch(text: impl Into<String>) -> Why {
    Why::Mismatch(text.into())
}

fn fault(text: impl Into<String>) -> Why {
    Why::Program(text.into())
}

/// Returns the beginning of a text for a message.
fn shown(text: &[u8]) -> String {
    let mut shown = String::from_utf8_lossy(&text[..text.len().min(MAX_SHOWN_BYTES)]).into_owned();
    if text.len() > MAX_SHOWN_BYTES {
        shown.push_str("...");
    }
    shown
}

/// Adds steps to those of a run.
fn charge(all: &mut u64, steps: u64) -> Done<()> {
    *all = all.saturating_add(steps);
    match *all > MAX_STEPS {
        true => Err(Why::Bound("time")),
        false => Ok(()),
    }
}

impl Run<'_> {
    fn step(&mut self, steps: u64) -> Done<()> {
        charge(&mut self.steps, steps)
    }

    fn commands(&mut self, commands: &[Command]) -> Done<()> {
        commands
            .iter()
            .try_for_each(|command| self.command(command))
    }

    fn command(&mut self, command: &Command) -> Done<()> {
        self.step(1)?;
        self.line = command.line;
        match &command.action {
            Action::Fixed(text) => self.text(text),
            Action::End => self.end(),
            Action::Integer { range, name } => self.integer(range, name.as_ref()),
            Action::Float {
                range,
                decimals,
                name,
                form,
            } => self.float(range, decimals.as_ref(), name.as_ref(), *form),
            Action::Text(text) => match self.value(text)? {
                Value::Text(text) => self.text(&text),
                _ => Err(fault("STRING needs a string")),
            },
            Action::Regex { pattern, name } => self.regex(pattern, name.as_ref()),
            Action::Assert(test) => match self.test(test)? {
                true => Ok(()),
                false => Err(mismatch("the assertion does not hold")),
            },
            Action::Set(all) => all.iter().try_for_each(|(variable, value)| {
                let value = self.value(value)?;
                self.set(variable, value)
            }),
            Action::Unset(names) => {
                for name in names {
                    self.unset(name)?;
                }
                Ok(())
            }
            Action::Repeat {
                index,
                count,
                separator,
                body,
            } => self.repeat(index.as_ref(), count, separator.as_deref(), body),
            Action::If {
                condition,
                then,
                otherwise,
            } => match self.test(condition)? {
                true => self.commands(then),
                false => self.commands(otherwise),
            },
        }
    }

    fn repeat(
        &mut self,
        index: Option<&Variable>,
        count: &Count,
        separator: Option<&Command>,
        body: &[Command],
    ) -> Done<()> {
        let times = match count {
            Count::While(_) => None,
            Count::Times(count) => match self.value(count)? {
                Value::Integer(number) => {
                    let times = u32::try_from(&number);
                    Some(times.map_err(|_| fault("the number of repetitions is not valid"))?)
                }
                _ => return Err(fault("the number of repetitions is not a whole number")),
            },
        };
        let mut done = 0u32;
        loop {
            self.step(1)?;
            if let Some(index) = index {
                self.set(index, Value::Integer(done.into()))?;
            }
            let goes_on = match (times, count) {
                (Some(times), _) => done < times,
                (None, Count::While(test)) => self.test(test)?,
                (None, Count::Times(_)) => false,
            };
            if !goes_on {
                return Ok(());
            }
            if let Some(separator) = separator.filter(|_| done > 0) {
                self.command(separator)?;
            }
            self.commands(body)?;
            done = done.saturating_add(1);
        }
    }

    fn rest(&self) -> &[u8] {
        &self.input[self.at..]
    }

    fn text(&mut self, text: &[u8]) -> Done<()> {
        self.step(text.len() as u64)?;
        if !self.rest().starts_with(text) {
            return Err(mismatch(format!("{:?} is expected", shown(text))));
        }
        self.at += text.len();
        Ok(())
    }

    fn end(&mut self) -> Done<()> {
        match self.rest().is_empty() {
            true => Ok(()),
            false => Err(mismatch("the end of the input is expected")),
        }
    }

    fn integer(&mut self, range: &[Expression; 2], name: Option<&Variable>) -> Done<()> {
        let rest = self.rest();
        let sign = usize::from(rest.first() == Some(&b'-'));
        let digits = rest[sign..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let length = match rest.get(sign) {
            Some(b'0') if sign == 0 => 1,
            Some(b'1'..=b'9') => sign + digits,
            _ => return Err(mismatch("a whole number is expected")),
        };
        let number = Value::integer(&rest[..length]);
        let number = number.ok_or_else(|| mismatch("the number is too long"))?;
        self.step(length as u64 * (1 + length as u64 / 64))?;
        self.within(&number, range)?;
        self.at += length;
        match name {
            Some(name) => self.set(name, number),
            None => Ok(()),
        }
    }

    fn within(&mut self, number: &Value, range: &[Expression; 2]) -> Done<()> {
        for (bound, wrong) in range.iter().zip([Ordering::Less, Ordering::Greater]) {
            let bound = self.value(bound)?;
            self.step(number.comparison_steps(&bound))?;
            match number.compare(&bound) {
                None => return Err(fault("a bound is not a number")),
                Some(order) if order == wrong => {
                    return Err(mismatch("the number is out of its range"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn float(
        &mut self,
        range: &[Expression; 2],
        decimals: Option<&[Expression; 2]>,
        name: Option<&Variable>,
        form: Form,
    ) -> Done<()> {
        let rest = self.rest();
        let sign = usize::from(rest.first() == Some(&b'-'));
        let length = number_end(rest, sign);
        if length == sign {
            return Err(mismatch("a number is expected"));
        }
        let text = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.step(length as u64)?;
        let has_exponent = text.contains(['e', 'E']);
        if form == Form::Fixed && has_exponent || form == Form::Scientific && !has_exponent {
            return Err(mismatch("the number has the wrong notation"));
        }
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let fraction = mantissa
            .split_once('.')
            .map_or(0, |(_, fraction)| fraction.len());
        if let Some(decimals) = decimals {
            self.within(&Value::Integer(fraction.into()), decimals)
                .map_err(|why| match why {
                    Why::Mismatch(_) => mismatch("the number has a wrong number of decimals"),
                    other => other,
                })?;
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        let number = Value::Float(number.ok_or_else(|| mismatch("the number is too large"))?);
        self.within(&number, range)?;
        self.at += length;
        match name {
            Some(name) => self.set(name, number),
            None => Ok(()),
        }
    }

    fn regex(&mut self, pattern: &Expression, name: Option<&Variable>) -> Done<()> {
        let Value::Text(pattern) = self.value(pattern)? else {
            return Err(fault("REGEX needs a string"));
        };
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(Why::Bound("regular expressions"));
        }
        if !self.patterns.contains_key(&*pattern) {
            if self.patterns.len() == MAX_PATTERNS {
                return Err(Why::Bound("regular expressions"));
            }
            self.step(1_000_000)?;
            let compiled = compile(&pattern).map_err(fault)?;
            self.patterns.insert(pattern.to_vec(), compiled);
        }
        let (input, at) = (self.input, self.at);
        let Some((dfa, cache)) = self.patterns.get_mut(&*pattern) else {
            return Ok(());
        };
        let search = Input::new(input).range(at..).anchored(Anchored::Yes);
        let found = dfa.try_search_fwd(cache, &search);
        let end = match found {
            Ok(Some(found)) => found.offset(),
            Ok(None) => {
                let shown = shown(&pattern);
                return Err(mismatch(format!("a match of {shown:?} is expected")));
            }
            // The search created too many states and gave up.
            Err(_) => return Err(Why::Bound("time")),
        };
        // A search may look at more bytes than it matches, up to the end of the input.
        self.step((input.len() - at).min(MAX_STEPS as usize) as u64 / 64 + (end - at) as u64)?;
        self.at = end;
        match name {
            Some(name) => self.set(name, Value::Text(input[at..end].into())),
            None => Ok(()),
        }
    }

    fn index(&mut self, variable: &Variable) -> Done<Index> {
        let indices = &variable.indices;
        indices
            .iter()
            .map(|index| Ok(KeyPart::from(&self.value(index)?)))
            .collect()
    }

    fn set(&mut self, variable: &Variable, value: Value) -> Done<()> {
        let index = self.index(variable)?;
        let key_bytes = bytes_of(&index);
        self.step(content_of(&index) / 16)?;
        let elements = match self.variables.get_mut(&variable.name) {
            Some(elements) => elements,
            None => self.variables.entry(variable.name.clone()).or_default(),
        };
        let cost = value.bytes();
        self.bytes += cost;
        match elements.insert(index, value) {
            Some(old) => self.bytes = self.bytes.saturating_sub(old.bytes()),
            None => self.bytes += key_bytes,
        }
        self.step(1 + (cost + key_bytes) / 64)?;
        match self.bytes > MAX_BYTES {
            true => Err(Why::Bound("memory")),
            false => Ok(()),
        }
    }

    fn unset(&mut self, name: &str) -> Done<()> {
        if let Some(elements) = self.variables.remove(name) {
            self.step(elements.len() as u64)?;
            for (index, value) in elements {
                let cost = value.bytes() + bytes_of(&index);
                self.bytes = self.bytes.saturating_sub(cost);
            }
        }
        Ok(())
    }

    fn value(&mut self, expression: &Expression) -> Done<Value> {
        self.step(1)?;
        let value = match expression {
            Expression::Constant(value) => value.clone(),
            Expression::Variable(variable) => {
                let index = self.index(variable)?;
                // The keys of other elements may begin with the same long text.
                self.step(content_of(&index) / 16)?;
                let elements = self.variables.get(&variable.name);
                let value = elements.and_then(|elements| elements.get(&index)).cloned();
                value.ok_or_else(|| {
                    fault(format!("{} has no value", shown(variable.name.as_bytes())))
                })?
            }
            Expression::Negative(inner) => {
                let zero = Value::Integer(0.into());
                zero.calculate(b'-', &self.value(inner)?).map_err(fault)?
            }
            Expression::Chain(first, others) => {
                let mut value = self.value(first)?;
                for (operator, other) in others {
                    let other = self.value(other)?;
                    value = self.calculate(&value, *operator, &other)?;
                }
                value
            }
            Expression::Power(both) => {
                let (base, exponent) = (self.value(&both[0])?, self.value(&both[1])?);
                self.calculate(&base, b'^', &exponent)?
            }
            Expression::Length(inner) => match self.value(inner)? {
                Value::Text(text) => Value::Integer(text.len().into()),
                _ => return Err(fault("STRLEN needs a string")),
            },
        };
        // Copies of long numbers take time.
        self.step(match &value {
            Value::Integer(_) => value.bytes() / 64,
            _ => 0,
        })?;
        Ok(value)
    }

    fn calculate(&mut self, a: &Value, operator: u8, b: &Value) -> Done<Value> {
        self.step((a.bytes() / 32).max(1) * (b.bytes() / 32).max(1))?;
        let value = a.calculate(operator, b).map_err(fault)?;
        self.step((value.bytes() / 32).pow(2))?;
        Ok(value)
    }

    fn test(&mut self, test: &Test) -> Done<bool> {
        self.step(1)?;
        match test {
            Test::Not(inner) => Ok(!self.test(inner)?),
            Test::All(all) => {
                for test in all {
                    if !self.test(test)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Test::Any(any) => {
                for test in any {
                    if self.test(test)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Test::Compare(operator, both) => {
                let (left, right) = (self.value(&both[0])?, self.value(&both[1])?);
                self.step(left.comparison_steps(&right))?;
                let order = left.compare(&right);
                let order = order.ok_or_else(|| fault("a string is compared with a number"))?;
                Ok(match *operator {
                    "<" => order.is_lt(),
                    ">" => order.is_gt(),
                    "<=" => order.is_le(),
                    ">=" => order.is_ge(),
                    "==" => order.is_eq(),
                    _ => order.is_ne(),
                })
            }
            Test::Match(set) => match self.value(set)? {
                Value::Text(set) => {
                    self.step(set.len() as u64)?;
                    Ok(self.rest().first().is_some_and(|byte| set.contains(byte)))
                }
                _ => Err(fault("MATCH needs a string")),
            },
            Test::AtEnd => Ok(self.rest().is_empty()),
            Test::Unique(names) => self.is_unique(names),
            Test::InArray(value, name) => {
                let value = self.value(value)?;
                let count = self.variables.get(name).map_or(0, BTreeMap::len);
                self.step(count as u64)?;
                let Run {
                    variables, steps, ..
                } = self;
                let elements = variables.get(name);
                let cost = elements
                    .into_iter()
                    .flat_map(BTreeMap::values)
                    .map(|element| element.comparison_steps(&value))
                    .sum();
                charge(steps, cost)?;
                let found = elements
                    .into_iter()
                    .flat_map(BTreeMap::values)
                    .any(|element| element.compare(&value) == Some(Ordering::Equal));
                Ok(found)
            }
        }
    }

    fn is_unique(&mut self, names: &[String]) -> Done<bool> {
        let Run {
            variables, steps, ..
        } = self;
        charge(steps, names.len() as u64)?;
        let mut arrays: Vec<&BTreeMap<Index, Value>> = Vec::new();
        for name in names {
            let array = variables.get(name);
            let array =
                array.ok_or_else(|| fault(format!("{} has no value", shown(name.as_bytes()))))?;
            arrays.push(array);
        }
        let Some((first, others)) = arrays.split_first() else {
            return Ok(true);
        };
        // The same variable may be named many times. So the cost is charged before it arises.
        let count: u64 = arrays.iter().map(|array| array.len() as u64).sum();
        charge(steps, count * 20)?;
        let (mut bytes, mut key_bytes) = (0, 0);
        for (index, value) in arrays.iter().copied().flatten() {
            bytes += value.bytes();
            key_bytes += content_of(index);
        }
        if bytes + count * 64 > MAX_BYTES {
            return Err(Why::Bound("memory"));
        }
        charge(steps, (bytes + key_bytes) / 16)?;
        if others.iter().any(|other| !other.keys().eq(first.keys())) {
            return Err(fault("the variables of UNIQUE have different indices"));
        }
        let mut seen: BTreeSet<Vec<KeyPart>> = BTreeSet::new();
        Ok(first.keys().all(|index| {
            let tuple = arrays.iter().filter_map(|array| array.get(index));
            seen.insert(tuple.map(KeyPart::from).collect())
        }))
    }
}

/// Returns the number of bytes that the key of an entry occupies, and the entry itself.
fn bytes_of(index: &[KeyPart]) -> u64 {
    64 + 64 * index.len() as u64 + content_of(index)
}

/// Returns the number of bytes of the numbers and texts in a key.
fn content_of(index: &[KeyPart]) -> u64 {
    let part = |part: &KeyPart| match part {
        KeyPart::Number(number) => number.bits() / 8,
        KeyPart::Float(_) => 0,
        KeyPart::Text(text) => text.len() as u64,
    };
    index.iter().map(part).sum()
}

/// Compiles an extended regular expression. All matches are found, so that the longest one counts.
fn compile(pattern: &[u8]) -> Result<(DFA, Cache), String> {
    let pattern = std::str::from_utf8(pattern).map_err(|_| "a pattern is not UTF-8")?;
    let dfa = DFA::builder()
        .configure(
            DFA::config()
                .match_kind(MatchKind::All)
                .skip_cache_capacity_check(true)
                .cache_capacity(2 * MAX_AUTOMATON_BYTES)
                .minimum_cache_clear_count(Some(MAX_CACHE_CLEARS))
                .minimum_bytes_per_state(Some(LEAST_BYTES_PER_STATE)),
        )
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .thompson(
            thompson::Config::new()
                .utf8(false)
                .nfa_size_limit(Some(MAX_AUTOMATON_BYTES)),
        )
        .build(pattern)
        .map_err(|error| format!("a pattern is not valid: {error}"))?;
    let cache = dfa.create_cache();
    Ok((dfa, cache))
}
