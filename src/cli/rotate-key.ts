import { REGISTER } from '#libs/sealing';
import { Progress } from './progress.js';
import { type Session, UsageError } from './session.js';

/** Organizations read at a time. */
const PAGE = 1_000;

/** Records in each organization's history which key replaced the previous one. */
export async function rotateKey({ runtime }: Session): Promise<object> {
  const { signers, store, sealer } = runtime;
  const keys = signers.successors;
  if (!keys) {
    throw new UsageError(
      'SIGNING_KEY_PREVIOUS is not set. Set it to the key that SIGNING_KEY replaces, or to "derived" if SIGNING_KEY was not ' +
        'set before.',
    );
  }
  const { recordSuccession } = await import('../history/index.js');
  let organizations = 0;
  // Not an organization, so it does not count.
  await recordSuccession(store, REGISTER, signers.succession(REGISTER)!);
  let told = 0;
  const progress = new Progress('organizations', () => ({ count: organizations }));
  try {
    const horizon = await store.horizon();
    for (let after = 0; after < horizon;) {
      const page = await store.readPage(after, horizon, PAGE, ['OrganizationCreated']);
      for (const { organizationId } of page.events) {
        organizations += 1;
        if (await recordSuccession(store, organizationId, signers.succession(organizationId)!)) told += 1;
      }
      after = page.end;
    }
  } finally {
    progress.stop();
  }
  // Signs it with both keys.
  await sealer.seal();
  return { ...keys, organizations, told };
}
