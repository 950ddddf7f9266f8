// The editor: a transparent text area above a highlighted copy of its text.

const MAX_HIGHLIGHTED = 100_000;
const INDENT = '    ';

const codeArea = byId('code');
const runtimeSelect = byId('runtime');

const chosenRuntime = () => runtimeSelect.selectedOptions[0];

// Replaces the selection so that the browser can undo it.
function insertText(area, text) {
  if (!document.execCommand('insertText', false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, 'end');
    area.dispatchEvent(new Event('input'));
  }
}

// Indents the selected lines, or removes one level of indentation from each.
function shiftLines(area, isOutdent) {
  const { value, selectionStart, selectionEnd } = area;
  if (selectionStart === selectionEnd && !isOutdent) {
    insertText(area, INDENT);
    return;
  }
  const begin = value.lastIndexOf('\n', selectionStart - 1) + 1;
  const lines = value.slice(begin, selectionEnd).split('\n');
  const shifted = lines.map((line) =>
    isOutdent ? line.replace(/^(?: {1,4}|\t)/, '') : line && INDENT + line);
  const text = shifted.join('\n');
  area.setSelectionRange(begin, selectionEnd);
  insertText(area, text);
  if (lines.length > 1) area.setSelectionRange(begin, begin + text.length);
}

function startEditor() {
  const layer = document.createElement('pre');
  layer.className = 'highlight';
  layer.setAttribute('aria-hidden', 'true');
  codeArea.before(layer);
  byId('editor').classList.add('is-live');
  // After Escape, Tab moves the focus, as it does outside the editor.
  let tabLeaves = false;

  const scroll = () => {
    layer.scrollTop = codeArea.scrollTop;
    layer.scrollLeft = codeArea.scrollLeft;
  };
  const draw = () => {
    const code = codeArea.value;
    const language = chosenRuntime()?.dataset.language || '';
    if (code.length > MAX_HIGHLIGHTED) layer.textContent = `${code}\n`;
    else layer.replaceChildren(highlighted(code, language));
    scroll();
  };

  codeArea.addEventListener('input', draw);
  codeArea.addEventListener('scroll', scroll);
  codeArea.addEventListener('blur', () => { tabLeaves = false; });
  codeArea.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      tabLeaves = true;
    } else if (event.key === 'Tab' && !tabLeaves && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      shiftLines(codeArea, event.shiftKey);
    } else if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      const line = codeArea.value.slice(0, codeArea.selectionStart).split('\n').pop();
      const indent = /^[ \t]*/.exec(line)[0];
      if (indent) {
        event.preventDefault();
        insertText(codeArea, `\n${indent}`);
      }
    } else if (!['Shift', 'Control', 'Alt', 'Meta', 'Tab'].includes(event.key)) {
      tabLeaves = false;
    }
  });
  runtimeSelect.addEventListener('change', draw);
  draw();
  return draw;
}
