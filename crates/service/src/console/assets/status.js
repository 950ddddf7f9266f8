// The status page: refreshes its figures while it is visible.

const REFRESH_MILLISECONDS = 2000;

// Replaces an element's content with markup from the server, which escapes all text.
async function refresh(target, address) {
  const response = await fetch(address, { headers: authorization() });
  if (!response.ok) return response.status;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  target.replaceChildren(...page.body.childNodes);
  return response.status;
}

async function keepFresh() {
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, REFRESH_MILLISECONDS); });
    const live = byId('live');
    if (!live || document.hidden) continue;
    try {
      await refresh(live, '/status/live');
    } catch {
      // The service may be restarting. The page shows the last figures until the service answers.
    }
  }
}

function startStatusPage(body) {
  const form = byId('status-token');
  const open = async () => {
    const status = await refresh(body, '/status/live?all=true').catch(() => 0);
    if (status === 401 || status === 403) form.submit();
    else if (tokenField && tokenField.value) storeToken(tokenField.value.trim());
  };
  if (form) {
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      open();
    });
    if (storedToken() && !document.querySelector('[role="alert"]')) open();
  }
  keepFresh();
}

if (byId('status-body')) startStatusPage(byId('status-body'));
