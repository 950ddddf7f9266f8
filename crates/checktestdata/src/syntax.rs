//! The parser and the syntax tree.

use super::lexer::{SyntaxError, Word, words};
use super::value::Value;

/// Maximum depth of nested commands and expressions.
const MAX_LEVELS: usize = 100;
/// Commands that are conditions.
const TESTS: [&str; 4] = ["ISEOF", "MATCH", "UNIQUE", "INARRAY"];

#[derive(Debug)]
pub struct Command {
    pub line: usize,
    pub action: Action,
}

#[derive(Debug)]
pub enum Action {
    /// Matches a fixed text: SPACE and NEWLINE.
    Fixed(&'static [u8]),
    End,
    Integer {
        range: [Expression; 2],
        name: Option<Variable>,
    },
    Float {
        range: [Expression; 2],
        /// The range of the number of decimals.
        decimals: Option<[Expression; 2]>,
        name: Option<Variable>,
        form: Form,
    },
    Text(Expression),
    Regex {
        pattern: Expression,
        name: Option<Variable>,
    },
    Assert(Test),
    Set(Vec<(Variable, Expression)>),
    Unset(Vec<String>),
    Repeat {
        index: Option<Variable>,
        count: Count,
        separator: Option<Box<Command>>,
        body: Vec<Command>,
    },
    If {
        condition: Test,
        then: Vec<Command>,
        otherwise: Vec<Command>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Any,
    Fixed,
    Scientific,
}

/// How often a loop runs.
#[derive(Debug)]
pub enum Count {
    Times(Expression),
    While(Test),
}

#[derive(Debug)]
pub struct Variable {
    pub name: String,
    pub indices: Vec<Expression>,
}

#[derive(Debug)]
pub enum Expression {
    Constant(Value),
    Variable(Variable),
    Negative(Box<Expression>),
    /// Operations of the same precedence, from the left.
    Chain(Box<Expression>, Vec<(u8, Expression)>),
    Power(Box<[Expression; 2]>),
    Length(Box<Expression>),
}

#[derive(Debug)]
pub enum Test {
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
    Compare(&'static str, Box<[Expression; 2]>),
    Match(Expression),
    AtEnd,
    Unique(Vec<String>),
    InArray(Expression, String),
}

pub fn parse(text: &str) -> Result<Vec<Command>, SyntaxError> {
    let mut parser = Parser {
        words: words(text)?,
        at: 0,
        level: 0,
    };
    let commands = parser.commands()?;
    match parser.peek() {
        None => Ok(commands),
        Some(_) => Err(parser.fault("END without the beginning of a block")),
    }
}

struct Parser {
    words: Vec<(usize, Word)>,
    at: usize,
    level: usize,
}

type Parsed<T> = Result<T, SyntaxError>;

impl Parser {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.at).map(|(_, word)| word)
    }

    fn line(&self) -> usize {
        let word = self.words.get(self.at).or(self.words.last());
        word.map_or(1, |(line, _)| *line)
    }

    fn fault(&self, message: &str) -> SyntaxError {
        SyntaxError {
            line: self.line(),
            message: message.to_owned(),
        }
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Word::Symbol(next)) if *next == symbol);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        match self.symbol(symbol) {
            true => Ok(()),
            false => Err(self.fault(&format!("{symbol:?} is missing"))),
        }
    }

    fn word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Word::Command(next)) if next == word);
        self.at += usize::from(is_next);
        is_next
    }

    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Word::Name(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.fault("a variable is missing")),
        }
    }

    fn names(&mut self) -> Parsed<Vec<String>> {
        let mut names = vec![self.name()?];
        while self.symbol(",") {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// Parses one level deeper.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Parser) -> Parsed<T>) -> Parsed<T> {
        if self.level == MAX_LEVELS {
            return Err(self.fault("nested too deeply"));
        }
        self.level += 1;
        let parsed = parse(self);
        self.level -= 1;
        parsed
    }

    /// Parses commands up to the end of the block.
    fn commands(&mut self) -> Parsed<Vec<Command>> {
        let mut commands = Vec::new();
        loop {
            match self.peek() {
                None => return Ok(commands),
                Some(Word::Command(word)) if matches!(&**word, "END" | "ELSE") => {
                    return Ok(commands);
                }
                Some(_) => commands.push(self.deeper(Parser::command)?),
            }
        }
    }

    fn command(&mut self) -> Parsed<Command> {
        let line = self.line();
        let Some(Word::Command(word)) = self.peek().cloned() else {
            return Err(self.fault("a command is missing"));
        };
        self.at += 1;
        let action = match &*word {
            "SPACE" => Action::Fixed(b" "),
            "NEWLINE" => Action::Fixed(b"\n"),
            "EOF" => Action::End,
            _ if !self.symbol("(") => {
                let message = format!("{word} is not a command, or lacks its arguments");
                return Err(SyntaxError { line, message });
            }
            _ => self.with_arguments(&word, line)?,
        };
        Ok(Command { line, action })
    }

    fn with_arguments(&mut self, word: &str, line: usize) -> Parsed<Action> {
        let action = match word {
            "INT" => {
                let range = self.range()?;
                let name = self.optional_variable()?;
                Action::Integer { range, name }
            }
            "FLOAT" | "FLOATP" => {
                let range = self.range()?;
                let decimals = if word == "FLOATP" {
                    self.expect(",")?;
                    Some(self.range()?)
                } else {
                    None
                };
                let name = self.optional_variable()?;
                let form = match name.is_some() && self.symbol(",") {
                    true if self.word("FIXED") => Form::Fixed,
                    true if self.word("SCIENTIFIC") => Form::Scientific,
                    true => return Err(self.fault("FIXED or SCIENTIFIC is missing")),
                    false => Form::Any,
                };
                Action::Float {
                    range,
                    decimals,
                    name,
                    form,
                }
            }
            "STRING" => Action::Text(self.expression()?),
            "REGEX" => {
                let pattern = self.expression()?;
                let name = self.optional_variable()?;
                Action::Regex { pattern, name }
            }
            "ASSERT" => Action::Assert(self.test()?),
            "SET" => {
                let mut all = Vec::new();
                loop {
                    let variable = self.variable()?;
                    self.expect("=")?;
                    all.push((variable, self.expression()?));
                    if !self.symbol(",") {
                        break Action::Set(all);
                    }
                }
            }
            "UNSET" => Action::Unset(self.names()?),
            "REP" | "REPI" | "WHILE" | "WHILEI" => return self.repeat(word),
            "IF" => {
                let condition = self.test()?;
                self.expect(")")?;
                let then = self.commands()?;
                let otherwise = match self.word("ELSE") {
                    true => self.commands()?,
                    false => Vec::new(),
                };
                return self.end_of(Action::If {
                    condition,
                    then,
                    otherwise,
                });
            }
            _ => {
                let message = format!("unknown command {word}");
                return Err(SyntaxError { line, message });
            }
        };
        self.expect(")")?;
        Ok(action)
    }

    fn repeat(&mut self, word: &str) -> Parsed<Action> {
        let index = if word.ends_with('I') {
            let index = self.variable()?;
            self.expect(",")?;
            Some(index)
        } else {
            None
        };
        let count = match word.starts_with('R') {
            true => Count::Times(self.expression()?),
            false => Count::While(self.test()?),
        };
        let separator = match self.symbol(",") {
            true => Some(Box::new(self.deeper(Parser::command)?)),
            false => None,
        };
        self.expect(")")?;
        let body = self.commands()?;
        let action = Action::Repeat {
            index,
            count,
            separator,
            body,
        };
        self.end_of(action)
    }

    fn end_of(&mut self, action: Action) -> Parsed<Action> {
        match self.word("END") {
            true => Ok(action),
            false => Err(self.fault("END is missing")),
        }
    }

    fn range(&mut self) -> Parsed<[Expression; 2]> {
        let least = self.expression()?;
        self.expect(",")?;
        Ok([least, self.expression()?])
    }

    fn optional_variable(&mut self) -> Parsed<Option<Variable>> {
        match self.symbol(",") {
            true => self.variable().map(Some),
            false => Ok(None),
        }
    }

    fn variable(&mut self) -> Parsed<Variable> {
        let name = self.name()?;
        let mut indices = Vec::new();
        if self.symbol("[") {
            loop {
                indices.push(self.expression()?);
                if !self.symbol(",") {
                    break;
                }
            }
            self.expect("]")?;
        }
        Ok(Variable { name, indices })
    }

    fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(|parser| parser.operation(&[b"+-", b"*/%"]))
    }

    /// Parses operators of the same precedence, from the left.
    fn operation(&mut self, levels: &[&[u8]]) -> Parsed<Expression> {
        let Some((operators, higher)) = levels.split_first() else {
            return self.power();
        };
        let first = self.operation(higher)?;
        let mut others = Vec::new();
        while let Some(operator) = operators
            .iter()
            .copied()
            .find(|operator| self.symbol(std::str::from_utf8(&[*operator]).unwrap_or_default()))
        {
            others.push((operator, self.operation(higher)?));
        }
        Ok(match others.is_empty() {
            true => first,
            false => Expression::Chain(Box::new(first), others),
        })
    }

    fn power(&mut self) -> Parsed<Expression> {
        if self.symbol("-") {
            let inner = self.deeper(Parser::power)?;
            return Ok(Expression::Negative(Box::new(inner)));
        }
        let base = self.factor()?;
        if !self.symbol("^") {
            return Ok(base);
        }
        let exponent = self.deeper(Parser::power)?;
        Ok(Expression::Power(Box::new([base, exponent])))
    }

    fn factor(&mut self) -> Parsed<Expression> {
        if self.symbol("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.word("STRLEN") {
            self.expect("(")?;
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(Expression::Length(Box::new(inner)));
        }
        let constant = match self.peek() {
            Some(Word::Integer(digits)) => Value::integer(digits.as_bytes()),
            Some(Word::Float(number)) if number.is_finite() => Some(Value::Float(*number)),
            Some(Word::Text(text)) => Some(Value::Text(text.as_slice().into())),
            Some(Word::Name(_)) => return self.variable().map(Expression::Variable),
            _ => None,
        };
        let constant = constant.ok_or_else(|| self.fault("an expression is missing"))?;
        self.at += 1;
        Ok(Expression::Constant(constant))
    }

    fn test(&mut self) -> Parsed<Test> {
        self.deeper(|parser| {
            let mut any = vec![parser.conjunction()?];
            while parser.symbol("||") {
                any.push(parser.conjunction()?);
            }
            Ok(match any.len() {
                1 => any.remove(0),
                _ => Test::Any(any),
            })
        })
    }

    fn conjunction(&mut self) -> Parsed<Test> {
        let mut all = vec![self.negation()?];
        while self.symbol("&&") {
            all.push(self.negation()?);
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Test::All(all),
        })
    }

    /// Whether the next parenthesis contains a condition, and not an expression.
    fn is_condition(&self) -> bool {
        let mut depth = 0;
        for (_, word) in &self.words[self.at..] {
            match word {
                Word::Symbol("(") => depth += 1,
                Word::Symbol(")") => depth -= 1,
                Word::Symbol("<" | ">" | "<=" | ">=" | "==" | "!=" | "!" | "&&" | "||") => {
                    return true;
                }
                Word::Command(word) if TESTS.contains(&&**word) => return true,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        false
    }

    fn negation(&mut self) -> Parsed<Test> {
        if self.symbol("!") {
            let inner = self.deeper(Parser::negation)?;
            return Ok(Test::Not(Box::new(inner)));
        }
        let parse = |parser: &mut Parser, word: &str| -> Parsed<Test> {
            if word == "ISEOF" {
                return Ok(Test::AtEnd);
            }
            parser.expect("(")?;
            let test = match word {
                "MATCH" => Test::Match(parser.expression()?),
                "UNIQUE" => Test::Unique(parser.names()?),
                _ => {
                    let value = parser.expression()?;
                    parser.expect(",")?;
                    Test::InArray(value, parser.name()?)
                }
            };
            parser.expect(")")?;
            Ok(test)
        };
        for word in TESTS {
            if self.word(word) {
                return parse(self, word);
            }
        }
        if matches!(self.peek(), Some(Word::Symbol("("))) && self.is_condition() {
            self.at += 1;
            let test = self.test()?;
            self.expect(")")?;
            return Ok(test);
        }
        let left = self.expression()?;
        let operator = self
            .comparison()
            .ok_or_else(|| self.fault("a comparison is missing"))?;
        self.at += 1;
        Ok(Test::Compare(
            operator,
            Box::new([left, self.expression()?]),
        ))
    }

    fn comparison(&self) -> Option<&'static str> {
        match self.peek() {
            Some(Word::Symbol(symbol)) => ["<", ">", "<=", ">=", "==", "!="]
                .into_iter()
                .find(|known| known == symbol),
            _ => None,
        }
    }
}
