import { isIP } from 'node:net';
import { type Check } from './deployment.js';

/** Checks the settings without connecting to anything. Invalid variables are reported earlier, by `examine`. */
export const configuration: Check = {
  name: 'configuration',
  examine({ config, ofDeployments }, found) {
    const { publicUrl, trustProxy, encryptionKey, previousEncryptionKey, signingKey, previousSigningKeys } =
      config;
    if (config.databaseUrl === undefined && ofDeployments.length > 0) {
      const [is, it] = ofDeployments.length === 1 ? ['is', 'it'] : ['are', 'them'];
      found.warning(
        `DATABASE_URL is not set, but ${ofDeployments.join(', ')} ${is}. This instance uses the embedded PostgreSQL ` +
          'in DATA_DIR, and no other instance sees its data.',
        `Set DATABASE_URL to the database that all instances share. If this is the only instance, you do not need ${it}.`,
      );
    }
    if (config.databaseUrl !== undefined && publicUrl === undefined)
      found.warning(
        'PUBLIC_URL is not set, so error.docs uses the address that the connection arrived at.',
        'Set it to the public address of the API.',
      );
    if (publicUrl?.startsWith('http://') && !isLocal(new URL(publicUrl).hostname))
      found.warning(
        'PUBLIC_URL is not https, so API keys and personal data are sent unencrypted.',
        'Put a proxy with a certificate in front of the instances, and set PUBLIC_URL to its https address.',
      );
    if (trustProxy === true)
      found.warning(
        'TRUST_PROXY=true accepts any address that a client claims, so limits by address have no effect.',
        'Set it to the number of proxies in front of the instances, or to their addresses.',
      );
    if (config.webhookAllowPrivate && publicUrl !== undefined && !isLocal(new URL(publicUrl).hostname))
      found.warning(
        'WEBHOOK_ALLOW_PRIVATE is set, so anyone who may create webhooks can reach the internal network.',
        'Remove it. It is for development.',
      );
    const names = (key: Buffer | undefined) =>
      key !== undefined && previousSigningKeys.some((one) => one !== 'derived' && one.equals(key));
    if (encryptionKey && (signingKey?.equals(encryptionKey) || names(encryptionKey)))
      found.warning(
        'SIGNING_KEY is the same as ENCRYPTION_KEY, so anyone who can sign checkpoints can read personal data.',
        'Generate another one before auditors store its public key: openssl rand -base64 32',
      );
    if (encryptionKey && previousEncryptionKey?.equals(encryptionKey))
      found.warning(
        'ENCRYPTION_KEY_PREVIOUS is the same as ENCRYPTION_KEY.',
        'Set ENCRYPTION_KEY to the new key, or remove ENCRYPTION_KEY_PREVIOUS.',
      );
    if (names(signingKey) || (signingKey === undefined && previousSigningKeys.includes('derived')))
      found.warning(
        'SIGNING_KEY_PREVIOUS contains the current signing key.',
        'Set SIGNING_KEY to the new key, or remove it from SIGNING_KEY_PREVIOUS.',
      );
    return 'All variables are valid.';
  },
};

/** Whether an address is on this machine or in a private network. */
export function isLocal(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '');
  if (isIP(address) === 0) return !address.includes('.') || /\.(local|internal|localhost|svc)$/.test(address);
  return /^(127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|::1$|f[cd]|fe80)/i.test(address);
}
