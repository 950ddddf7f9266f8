// Follows the event stream of a page, and replaces the main part of the page when it changes. The
// server renders this part, so the page is the same as after a reload. A part with its own address
// is loaded from there, without the page around it.
let source = document.querySelector('meta[name=live]')?.content;
// Pages of a contest also show its news. Their streams have events for that as well.
const notices = document.querySelector('[data-notice]');
const PAUSE_MS = 1000;
// The pause after a refusal. It differs between pages, so that they do not all ask again at once.
const retryPause = () => 30000 + Math.random() * 30000;
// The site refuses a stream or a page if too many are open, or if it is too busy.
const isRefusal = (answer) => answer.status === 429 || answer.status === 503;
let isLoading = false;
let isStale = false;
let announced = '';

// Replaces a part of the page. The focus stays on the same link.
function replacePart(to, from) {
  const active = document.activeElement;
  const href = to.contains(active) ? active.getAttribute('href') : null;
  to.replaceWith(document.adoptNode(from));
  if (href) from.querySelector(`a[href="${CSS.escape(href)}"]`)?.focus();
  markScrollers();
}

async function refresh() {
  if (isLoading) {
    isStale = true;
    return;
  }
  isLoading = true;
  isStale = false;
  let pause = PAUSE_MS;
  const checked = (answer) => {
    if (isRefusal(answer)) {
      isStale = true;
      pause = retryPause();
    }
    return answer.ok;
  };
  const part = document.querySelector('[data-live-source]');
  try {
    if (part) {
      const address = new URL(part.dataset.liveSource, location.href);
      // The server need not look for changes after the one that the event has announced.
      if (announced) address.searchParams.set('event', announced);
      const answer = await fetch(address, { credentials: 'same-origin' });
      if (checked(answer)) {
        const content = new DOMParser().parseFromString(await answer.text(), 'text/html');
        part.replaceChildren(...content.body.childNodes);
        markScrollers();
      }
      return;
    }
    const answer = await fetch(location.href, { credentials: 'same-origin' });
    if (checked(answer)) {
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const [from, to] = [page, document].map((it) => it.querySelector('[data-live]'));
      if (from && to) replacePart(to, from);
      if (!page.querySelector('meta[name=live]')) endEvents();
    }
  } catch {
    // The next change triggers another attempt.
  } finally {
    setTimeout(() => {
      isLoading = false;
      if (isStale) refresh();
    }, pause);
  }
}

async function refreshNotice() {
  try {
    const answer = await fetch(notices.dataset.notice, { credentials: 'same-origin' });
    if (!answer.ok) return;
    const content = new DOMParser().parseFromString(await answer.text(), 'text/html').body;
    // Screen readers announce the change.
    if (content.textContent.trim() !== notices.textContent.trim()) {
      notices.replaceChildren(...content.childNodes);
    }
  } catch {
    // The next event triggers another attempt.
  }
}

let events = null;
let isOver = false;
let retry = null;
let isRetry = false;

// Browsers open a stream again that has ended, but not one that the site has refused. Until there
// is a stream, the page asks for changes at each attempt.
function retryLater() {
  if (events?.readyState !== EventSource.CLOSED) return;
  pauseEvents();
  if (isRetry && source) refresh();
  if (isRetry && notices) refreshNotice();
  retry = setTimeout(() => {
    isRetry = true;
    follow();
  }, retryPause());
}

// A hidden page follows no stream, because browsers open only a few connections to one site.
function follow() {
  const address = source ?? notices?.dataset.stream;
  if (!address || events || isOver || document.hidden) return;
  events = new EventSource(address);
  events.addEventListener('error', retryLater);
  events.addEventListener('open', () => { isRetry = false; });
  // The page may have changed before the connection was open.
  if (source) {
    events.addEventListener('open', () => {
      announced = '';
      refresh();
    });
    events.addEventListener('change', (event) => {
      announced = event.data;
      refresh();
    });
  }
  if (notices) {
    events.addEventListener('open', refreshNotice);
    events.addEventListener('notice', refreshNotice);
  }
}

function pauseEvents() {
  clearTimeout(retry);
  events?.close();
  events = null;
}

// The page no longer changes, but there may be news.
function endEvents() {
  source = undefined;
  pauseEvents();
  if (notices) follow();
  else isOver = true;
}

follow();
document.addEventListener('visibilitychange', () => {
  if (document.hidden) pauseEvents();
  else follow();
});
