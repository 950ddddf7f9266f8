// Highlighting: a tokenizer for comments, strings, numbers and keywords. Each language has one
// regular expression, whose parts match in linear time. The Rust crate does the same on the server.

const byId = (id) => document.getElementById(id);

const escapeRegex = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
const compiledLanguages = new Map();

// Returns the keywords of a language, including those of the language that it extends.
function keywordsOf({ keywords, with: base }) {
  const words = keywords.flatMap((line) => line.split(' '));
  return base ? words.concat(keywordsOf(LANGUAGES.languages[base])) : words;
}

// Returns the regular expression and the keywords of a language. The groups of the expression are
// comments, strings, numbers and words.
function grammar(name) {
  const base = name.replace(/[\d._-]+$/, '');
  const { languages, same } = LANGUAGES;
  const known = languages[name] || languages[same[name]] || languages[base];
  const language = known || { line: ['#', '//'], keywords: [] };
  if (compiledLanguages.has(language)) return compiledLanguages.get(language);
  const comments = (language.block || []).map(
    ([open, close]) => `${escapeRegex(open)}[\\s\\S]*?(?:${escapeRegex(close)}|$)`);
  if (language.comment) comments.push(language.comment);
  // The start of a line comment may already be a regular expression (Forth).
  for (const start of language.line || []) {
    comments.push(`${start.includes('\\') ? start : escapeRegex(start)}[^\\n]*`);
  }
  const strings = language.raw ? [language.raw] : [];
  for (const quote of language.quotes ?? '"\'') {
    strings.push(language.noEscape
      ? `${quote}[^${quote}\\n]*${quote}?`
      : `${quote}(?:\\\\[^\\n]|[^${quote}\\\\\\n])*${quote}?`);
  }
  if (language.character) strings.push("'(?:\\\\[^\\n']+|[^\\n'\\\\])'");
  const word = language.word || '[@A-Za-z_][\\w]*[!?]?';
  const parts = [
    `(${comments.join('|') || '(?!)'})`,
    `(${strings.join('|') || '(?!)'})`,
    '((?:0[xXbBoO][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\w*)',
    `(${language.preprocessor ? '#[ \\t]*[a-z]+|' : ''}${word})`,
  ];
  const words = keywordsOf(language);
  const compiled = {
    regex: new RegExp(parts.join('|'), language.insensitive ? 'gi' : 'g'),
    keywords: new Set(language.insensitive ? words.map((it) => it.toLowerCase()) : words),
    insensitive: language.insensitive,
  };
  compiledLanguages.set(language, compiled);
  return compiled;
}

function isKeyword(word, { keywords, insensitive }) {
  return word.startsWith('#') || keywords.has(insensitive ? word.toLowerCase() : word);
}

// Returns the code as a fragment of text and spans.
function highlighted(code, languageName) {
  const fragment = document.createDocumentFragment();
  const language = grammar(languageName);
  let end = 0;
  for (const match of code.matchAll(language.regex)) {
    const [text, comment, string, number, word] = match;
    let kind;
    if (comment !== undefined) kind = 'comment';
    else if (string !== undefined) kind = 'string';
    else if (number !== undefined) kind = 'number';
    else if (isKeyword(word, language)) kind = 'keyword';
    if (!kind || !text) continue;
    fragment.append(code.slice(end, match.index));
    const span = document.createElement('span');
    span.className = `token-${kind}`;
    span.textContent = text;
    fragment.append(span);
    end = match.index + text.length;
  }
  // The last line keeps its height even if it is empty.
  fragment.append(code.slice(end), '\n');
  return fragment;
}
