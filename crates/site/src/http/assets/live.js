// Follows a page's source of changes and replaces the page's main part. The server renders it, so
// the page is the same as after loading it again. A part with an address of its own is loaded from
// there, without the page around it.
const source = document.querySelector('meta[name=live]')?.content;
const PAUSE_MS = 1000;
let isLoading = false;
let isStale = false;

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
  const part = document.querySelector('[data-live-source]');
  try {
    if (part) {
      const answer = await fetch(part.dataset.liveSource, { credentials: 'same-origin' });
      if (answer.ok) {
        const content = new DOMParser().parseFromString(await answer.text(), 'text/html');
        part.replaceChildren(...content.body.childNodes);
        markScrollers();
      }
      return;
    }
    const answer = await fetch(location.href, { credentials: 'same-origin' });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const [from, to] = [page, document].map((it) => it.querySelector('[data-live]'));
      if (from && to) replacePart(to, from);
      if (!page.querySelector('meta[name=live]')) events.close();
    }
  } catch {
    // The next change tries again.
  } finally {
    setTimeout(() => {
      isLoading = false;
      if (isStale) refresh();
    }, PAUSE_MS);
  }
}

const events = source ? new EventSource(source) : null;
// The page may have changed before the connection was open.
events?.addEventListener('open', refresh);
events?.addEventListener('change', refresh);
