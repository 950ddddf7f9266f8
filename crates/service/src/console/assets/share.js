// Links that store the form in the URL fragment, which browsers do not send to the service. `#p=`
// is followed by JSON in Base64, `#z=` by the same JSON, deflated and in Base64.

const COMPRESS_ABOVE = 300;
const MAX_SHARED_BYTES = 1 << 20;

function toBase64Url(bytes) {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

function fromBase64Url(text) {
  return bytesOfBase64(text.replace(/-/g, '+').replace(/_/g, '/'));
}

// Reads a stream. A stream longer than the bound is an error: a short link can unpack to a long
// text.
async function readAll(stream) {
  const chunks = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    length += value.length;
    if (length > MAX_SHARED_BYTES) {
      reader.cancel();
      throw new Error('the program is too long');
    }
    chunks.push(value);
  }
}

async function toFragment(shared) {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  if (bytes.length <= COMPRESS_ABOVE || typeof CompressionStream === 'undefined') {
    return `#p=${toBase64Url(bytes)}`;
  }
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return `#z=${toBase64Url(await readAll(packed))}`;
}

// Returns the form in a fragment, or null if the fragment is not a link to a program.
async function fromFragment(fragment) {
  const match = /^#([pz])=([\w-]+)$/.exec(fragment);
  if (!match) return null;
  let bytes = fromBase64Url(match[2]);
  if (match[1] === 'z') {
    const packed = new Blob([bytes]).stream();
    bytes = await readAll(packed.pipeThrough(new DecompressionStream('deflate-raw')));
  }
  const shared = JSON.parse(new TextDecoder().decode(bytes));
  return typeof shared === 'object' ? shared : null;
}
