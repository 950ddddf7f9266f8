// The page that runs programs: runs them in place, shows results, and creates and opens links.

const SHOWN_BYTES = 256 << 10;

// Returns the sentences for a key. The server renders all sentences into a template.
function wordsFor(key) {
  const content = byId('words').content;
  return content.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

function streamText(output) {
  const bytes = output.base64 === undefined ? null : bytesOfBase64(output.base64);
  const text = bytes ? new TextDecoder().decode(bytes) : output.text || '';
  const notes = [];
  if (output.bytes === 0) notes.push('The program wrote nothing.');
  if (output.truncated) notes.push(`Only the beginning of ${formatSize(output.bytes)} is shown.`);
  if (bytes) notes.push('The output is not valid UTF-8.');
  return { text, note: notes.join(' ') };
}

// Builds the view from an answer of /v1/runs, like View::of_answer in result.rs.
function viewOfAnswer(answer) {
  const test = answer.tests[0];
  const compile = answer.compile;
  let key = test ? test.outcome : `compile_${compile ? compile.outcome : 'failed'}`;
  if (key === 'exited' && test.exit_code === 0) key = 'exited_0';
  const words = wordsFor(key) || wordsFor('sandbox_error');
  const kind = words.dataset.kind;
  const facts = {};
  const streams = {};
  let detail = '';
  let blame = compile && compile.blame;
  const reason = test ? test.error : kind === 'unknown' && compile && compile.error;
  if (reason) streams.error = { text: reason };
  if (compile && compile.messages.trim()) streams.messages = { text: compile.messages };
  if (test) {
    blame = test.blame;
    if (test.exit_code !== null) detail = facts.exit = String(test.exit_code);
    if (test.signal !== null) {
      const name = wordsFor(`signal_${test.signal}`);
      detail = facts.signal = name ? name.textContent : `Signal ${test.signal}`;
    }
    facts.cpu = formatTime(test.cpu_ms);
    facts.wall = formatTime(test.wall_ms);
    facts.memory = formatSize(test.memory_bytes);
    streams.stdout = streamText(test.stdout);
    if (test.stderr.bytes > 0) streams.stderr = streamText(test.stderr);
  }
  if (compile && (compile.wall_ms > 0 || compile.from_cache)) {
    facts.compile = compile.from_cache ? 'compiled before' : formatTime(compile.wall_ms);
  }
  facts.queued = formatTime(answer.timing.queued_ms);
  if (blame && kind !== 'good') facts.blame = wordsFor(`blame_${blame}`).textContent;
  return {
    kind,
    headline: words.textContent.replace('{}', () => detail),
    explanation: words.dataset.explanation,
    facts,
    streams,
  };
}

function viewOfProblem(status, problem) {
  const isService = status === 429 || status >= 500 || status === 0;
  return {
    kind: 'unknown',
    headline: `${problem.title}.`,
    explanation: problem.detail || '',
    facts: { blame: wordsFor(`blame_${isService ? 'service' : 'request'}`).textContent },
    streams: {},
  };
}

function showView(view) {
  const body = byId('result-template').content.cloneNode(true);
  const set = (root, field, text) => {
    root.querySelector(`[data-field="${field}"]`).textContent = text;
  };
  set(body, 'headline', view.headline);
  set(body, 'explanation', visible(view.explanation));
  for (const fact of body.querySelectorAll('[data-fact]')) {
    const value = view.facts[fact.dataset.fact];
    if (value === undefined) fact.remove();
    else fact.querySelector('dd').textContent = value;
  }
  for (const element of body.querySelectorAll('[data-stream]')) {
    const stream = view.streams[element.dataset.stream];
    if (stream === undefined) {
      element.remove();
      continue;
    }
    element.querySelector('pre').textContent = visible(stream.text);
    set(element, 'note', stream.note || '');
  }
  byId('result-body').replaceChildren(body);
  byId('result').dataset.kind = view.kind;
  byId('announcement').textContent = view.headline;
  // On a phone, the result is below the form.
  const heading = byId('result-heading');
  const { top } = heading.getBoundingClientRect();
  if (top < 0 || top > window.innerHeight * 0.8) heading.scrollIntoView({ block: 'start' });
}

function startRunPage(form) {
  const [start, stop, share] = ['start', 'stop', 'share'].map(byId);
  const [stdin, cpu, memory] = ['stdin', 'cpu', 'memory'].map(byId);
  const shareBox = byId('share-box');
  const draw = startEditor();
  let running = null;
  let previous = chosenRuntime();

  if (tokenField) tokenField.value = storedToken();

  const request = () => {
    const runtime = chosenRuntime();
    const limits = { output_bytes: SHOWN_BYTES };
    if (cpu.value) limits.cpu_ms = Math.round(cpu.valueAsNumber * 1000);
    if (memory.value) limits.memory_bytes = Math.round(memory.valueAsNumber * (1 << 20));
    return {
      runtime: runtime.value,
      files: { [runtime.dataset.file]: { text: codeArea.value } },
      stdin: { text: stdin.value },
      limits,
    };
  };

  const setRunning = (controller) => {
    running = controller;
    byId('result').setAttribute('aria-busy', String(controller !== null));
    start.setAttribute('aria-disabled', String(controller !== null));
    start.textContent = controller ? 'Running\u2026' : 'Run';
    if (!controller && document.activeElement === stop) start.focus();
    stop.hidden = !controller;
  };

  const run = async () => {
    if (running || !form.reportValidity()) return;
    const controller = new AbortController();
    setRunning(controller);
    byId('announcement').textContent = 'The program is running.';
    shareBox.replaceChildren();
    try {
      const response = await fetch('/v1/runs', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...authorization() },
        body: JSON.stringify(request()),
        signal: controller.signal,
      });
      const answer = await response.json();
      if (tokenField && response.status !== 401) storeToken(tokenField.value.trim());
      showView(response.ok ? viewOfAnswer(answer) : viewOfProblem(response.status, answer));
      if (response.status === 401 && tokenField) tokenField.focus();
    } catch (error) {
      // The service ends the run when the connection is closed.
      const isStopped = controller.signal.aborted;
      showView(viewOfProblem(isStopped ? 400 : 0, {
        title: isStopped ? 'The run was stopped' : 'The service did not answer',
        detail: isStopped ? '' : String(error),
      }));
      if (isStopped) byId('result-body').querySelector('[data-fact="blame"]')?.remove();
    } finally {
      setRunning(null);
    }
  };

  const showExample = () => {
    codeArea.value = chosenRuntime()?.dataset.example || '';
    if (!stdin.value) stdin.value = '1 2 3\n';
    draw();
  };

  const shareLink = async () => {
    const fragment = await toFragment({
      runtime: runtimeSelect.value,
      code: codeArea.value,
      stdin: stdin.value,
      cpu: cpu.value,
      memory: memory.value,
    });
    const address = `${location.origin}/${fragment}`;
    history.replaceState(null, '', address);
    const link = document.createElement('a');
    link.href = address;
    link.textContent = 'Link to this program';
    const text = document.createElement('p');
    let copied = false;
    try {
      await navigator.clipboard.writeText(address);
      copied = true;
    } catch {
      // If the clipboard cannot be used, the user can copy the link by hand.
    }
    text.append(link, copied
      ? ' was copied. It opens the form without running anything.'
      : ' for sharing. It opens the form without running anything.');
    shareBox.replaceChildren(text);
    byId('announcement').textContent = text.textContent;
  };

  // Fills in the form from a link, without running the program.
  const openLink = async () => {
    try {
      const shared = await fromFragment(location.hash);
      if (!shared) return;
      const text = (name) => (typeof shared[name] === 'string' ? shared[name] : '');
      const known = [...runtimeSelect.options].some((option) => option.value === text('runtime'));
      if (known) runtimeSelect.value = text('runtime');
      codeArea.value = text('code');
      stdin.value = text('stdin');
      cpu.value = text('cpu');
      memory.value = text('memory');
      previous = chosenRuntime();
      draw();
      const message = known
        ? 'The program of the link is in the editor. It has not been run.'
        : `The language of the link is not installed: ${visible(text('runtime'))}`;
      const note = document.createElement('p');
      note.textContent = message;
      shareBox.replaceChildren(note);
    } catch (error) {
      showView(viewOfProblem(400, {
        title: 'The link cannot be opened',
        detail: String(error),
      }));
    }
  };

  share.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (event.submitter && event.submitter.id === 'example') showExample();
    else run();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
  stop.addEventListener('click', () => running?.abort());
  share.addEventListener('click', shareLink);
  runtimeSelect.addEventListener('change', () => {
    // Keep a program that the visitor has written.
    const isExample = previous && codeArea.value === previous.dataset.example;
    previous = chosenRuntime();
    if (isExample || !codeArea.value.trim()) showExample();
  });
  window.addEventListener('hashchange', openLink);
  openLink();
}

document.documentElement.classList.add('has-script');
if (byId('run')) startRunPage(byId('run'));
