// The clock of the server, countdowns, samples to copy, and tables that can be scrolled with the
// keyboard.

const clock = document.getElementById('clock');
const clockZone = document.getElementById('clock-zone');
// How far the server's clock is ahead of the browser's, in milliseconds.
const ahead = clock ? Number(clock.dataset.now) - Date.now() : 0;
const two = (number) => String(number).padStart(2, '0');

// "2 days" in the language of the page.
const dayFormat = { style: 'unit', unit: 'day', unitDisplay: 'long' };
const dayWords = new Intl.NumberFormat(document.documentElement.lang, dayFormat);

// A time span as 1:05:09, or with days.
function spanWords(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [days, hours] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24];
  if (days > 0) return `${dayWords.format(days)} ${hours} h`;
  const [minutes, rest] = [Math.floor(seconds / 60) % 60, seconds % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

// Milliseconds until the end of a countdown.
const leftOf = (element) => Date.parse(element.dateTime) - (Date.now() + ahead);

// Reloads the page within two seconds after a countdown, unless the user has started to type, or
// the page is the response to a form, which a reload would send again. All browsers reach the end
// at the same time, so each waits for a random time. A page that follows a stream waits longer,
// because the stream usually replaces the countdown before.
let isEnding = false;
function endCountdown(left) {
  const isInUse = 'form textarea, form input[type=file], #form-mistake';
  if (isEnding || document.querySelector(isInUse)) return;
  isEnding = true;
  const [least, spread] = document.querySelector('meta[name=live]') ? [1200, 600] : [100, 1700];
  setTimeout(() => {
    isEnding = false;
    const isOver = (element) => leftOf(element) <= 0;
    if ([...document.querySelectorAll('time[data-until]')].some(isOver)) location.reload();
  }, Math.max(0, left) + least + Math.random() * spread);
}

// Shows the time in the zone that the server has chosen. The clocks of the zone may be changed
// while the page is open.
function showClock(now) {
  const { offset, next, nextOffset, nextZone } = clock.dataset;
  const isChanged = next !== undefined && now >= Number(next);
  const local = new Date(now + Number(isChanged ? nextOffset : offset) * 1000);
  clock.textContent = local.toISOString().slice(11, 19);
  if (isChanged) clockZone.textContent = nextZone;
}

function tick() {
  if (clock) showClock(Date.now() + ahead);
  for (const element of document.querySelectorAll('time[data-until]')) {
    const left = leftOf(element);
    element.textContent = spanWords(left);
    // The next tick may be late.
    if (left <= 1500) endCountdown(left);
  }
}

// Makes tables that are wider than their container reachable with the keyboard.
function markScrollers() {
  for (const place of document.querySelectorAll('.scroll')) {
    const isWide = place.scrollWidth > place.clientWidth;
    place.toggleAttribute('tabindex', isWide);
    if (isWide) place.tabIndex = 0;
  }
}

// Copies the text beside a button. Without a secure connection, browsers have no clipboard, so the
// text is selected and copied as if by the user.
async function copyText(button) {
  const part = button.closest('[data-copied]');
  const text = part.querySelector('pre');
  // The browser or the user may forbid the clipboard.
  const isCopied = await navigator.clipboard?.writeText(text.textContent)
    .then(() => true, () => false);
  if (!isCopied) {
    getSelection().selectAllChildren(text);
    document.execCommand('copy');
  }
  const status = part.querySelector('[role=status]');
  status.textContent = part.dataset.copied;
  setTimeout(() => { status.textContent = ''; }, 3000);
}

for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', () => copyText(button));
}

tick();
setInterval(tick, 1000);
markScrollers();
addEventListener('resize', markScrollers);
