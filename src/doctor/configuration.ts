import { isIP } from 'node:net';
import { type Finding, ok, warning } from './finding.js';
import { type Check } from './deployment.js';

/** What is set, as far as it can be judged without asking anybody. Wrong variables are found before: see `examine`. */
export const configuration: Check = {
  name: 'configuration',
  examine({ config, ofDeployments }) {
    const found: Finding[] = [];
    const { publicUrl, trustProxy, encryptionKey, previousEncryptionKey, signingKey, previousSigningKeys } =
      config;
    if (config.databaseUrl === undefined && ofDeployments.length > 0) {
      const [is, it] = ofDeployments.length === 1 ? ['is', 'it'] : ['are', 'them'];
      found.push(
        warning(
          `DATABASE_URL is not set, but ${ofDeployments.join(', ')} ${is}: this instance uses the embedded PostgreSQL ` +
            'under DATA_DIR, and no other instance sees what it writes.',
          `Set DATABASE_URL to the database that all instances share; where this one is to stay alone, nothing needs ${it}.`,
        ),
      );
    }
    if (config.databaseUrl !== undefined && publicUrl === undefined) {
      found.push(
        warning(
          'PUBLIC_URL is not set: errors name the address that the connection arrived at.',
          'Set it to the address under which clients reach the API.',
        ),
      );
    }
    if (publicUrl?.startsWith('http://') && !isLocal(new URL(publicUrl).hostname)) {
      found.push(
        warning(
          'PUBLIC_URL is not https: API keys and personal data pass in clear.',
          'Let a proxy with a certificate stand before the instances, and name its https address.',
        ),
      );
    }
    if (trustProxy === true) {
      found.push(
        warning(
          'TRUST_PROXY=true believes whatever address a client claims, and limits by address are then none.',
          'Set the number of proxies before the instances, or their addresses.',
        ),
      );
    }
    const names = (key: Buffer | undefined) =>
      key !== undefined && previousSigningKeys.some((one) => one !== 'derived' && one.equals(key));
    if (encryptionKey && (signingKey?.equals(encryptionKey) || names(encryptionKey))) {
      found.push(
        warning(
          'SIGNING_KEY is the ENCRYPTION_KEY: whoever may sign checkpoints may read personal data.',
          'Make another one before auditors keep its public part: openssl rand -base64 32',
        ),
      );
    }
    if (encryptionKey && previousEncryptionKey?.equals(encryptionKey)) {
      found.push(
        warning(
          'ENCRYPTION_KEY_PREVIOUS is the ENCRYPTION_KEY.',
          'Set ENCRYPTION_KEY to the new key, or take ENCRYPTION_KEY_PREVIOUS out.',
        ),
      );
    }
    if (names(signingKey) || (signingKey === undefined && previousSigningKeys.includes('derived'))) {
      found.push(
        warning(
          'SIGNING_KEY_PREVIOUS names the key that signs already.',
          'Set SIGNING_KEY to the new key, or take the name out.',
        ),
      );
    }
    return found.length > 0 ? found : [ok('Each variable that is set is right.')];
  },
};

/** An address that no stranger's network lies before. */
export function isLocal(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '');
  if (isIP(address) === 0) return !address.includes('.') || /\.(local|internal|localhost|svc)$/.test(address);
  return /^(127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|::1$|f[cd]|fe80)/i.test(address);
}
