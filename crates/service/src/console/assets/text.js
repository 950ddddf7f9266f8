// Formats times, sizes and hostile output, like the functions in text.rs.

function formatTime(milliseconds) {
  return milliseconds < 1000
    ? `${milliseconds.toFixed(1)} ms`
    : `${(milliseconds / 1000).toFixed(2)} s`;
}

function formatSize(bytes) {
  if (bytes < 1024) return `${bytes} byte${bytes === 1 ? '' : 's'}`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}

// Makes control characters visible and harmless.
function visible(text) {
  return text
    .replace(/\r\n/g, '\n')
    .replace(/[\0-\x08\x0b-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\x7f/g, '\u2421')
    .replace(/[\x80-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) =>
      `\u27e8U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}\u27e9`);
}

function bytesOfBase64(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

// The token of this tab, if the service requires one.
const tokenField = byId('token');

function storedToken() {
  try {
    return sessionStorage.getItem('millibox-token') || '';
  } catch {
    return '';
  }
}

function storeToken(token) {
  try {
    sessionStorage.setItem('millibox-token', token);
  } catch {
    // Without storage, the field keeps the token until the user leaves the page.
  }
}

function authorization() {
  const token = (tokenField && tokenField.value.trim()) || storedToken();
  return token ? { authorization: `Bearer ${token}` } : {};
}
