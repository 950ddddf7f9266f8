// Scrolls a long ranking down and up again, unless the user prefers reduced motion.
const PIXELS_PER_SECOND = 40;
const PAUSE_MS = 4000;
const reduced = matchMedia("(prefers-reduced-motion: reduce)");
let direction = 1;
let last = performance.now();
let waitUntil = last + PAUSE_MS;
let place = scrollY;

function step(now) {
  const passed = now - last;
  last = now;
  const bottom = document.documentElement.scrollHeight - innerHeight;
  if (!reduced.matches && bottom > 0 && now > waitUntil) {
    place = Math.min(bottom, Math.max(0, place + (direction * PIXELS_PER_SECOND * passed) / 1000));
    scrollTo(0, place);
    if (place === 0 || place === bottom) {
      direction = place === 0 ? 1 : -1;
      waitUntil = now + PAUSE_MS;
    }
  }
  requestAnimationFrame(step);
}
requestAnimationFrame(step);
