/** In a variable, because programs that bundle code for browsers would look for the module. */
const NODE_CRYPTO = ['node', 'crypto'].join(':');

type WebCrypto = typeof globalThis.crypto;

/** Web Crypto, which is not global in Node.js 18. */
export async function webCrypto(): Promise<WebCrypto> {
  if (globalThis.crypto !== undefined) return globalThis.crypto;
  const module = (await import(/* webpackIgnore: true */ /* @vite-ignore */ NODE_CRYPTO)) as {
    webcrypto: WebCrypto;
  };
  return module.webcrypto;
}

/** 128 random bits. Unlike `randomUUID`, also in pages without HTTPS. */
export async function randomId(): Promise<string> {
  const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
