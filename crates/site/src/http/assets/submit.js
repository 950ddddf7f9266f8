// The form that sends a source: the editor, and the language of a chosen file.

const fileField = document.querySelector('input[name=file]');

// Chooses the language of a file by its extension: the default variant of the languages with that
// extension. An extension with the same case is preferred.
function chooseLanguage(fileName) {
  const extension = fileName.split('.').pop();
  const having = (isKnown) => [...runtimeSelect.options].filter((option) =>
    (option.dataset.extensions || '').split(' ').some(isKnown));
  const same = having((known) => known === extension);
  const fitting = same.length > 0
    ? same
    : having((known) => known.toLowerCase() === extension.toLowerCase());
  const isChosen = fitting.some((option) => option.selected);
  const found = fitting.find((option) => 'default' in option.dataset) || fitting[0];
  if (!found || isChosen) return;
  found.selected = true;
  runtimeSelect.dispatchEvent(new Event('change'));
}

// Only a file can do without a chosen language. Otherwise the server would reject the source.
function requireLanguage() {
  runtimeSelect.required = fileField.files.length === 0;
}

startEditor();
byId('code-hint').hidden = false;
// The browser may restore the file later than it starts the script.
addEventListener('pageshow', requireLanguage);
fileField.addEventListener('change', () => {
  requireLanguage();
  if (fileField.files.length > 0) chooseLanguage(fileField.files[0].name);
});
codeArea.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) codeArea.form.requestSubmit();
});
