/** Creates petitions and contacts for the HTTP benchmarks, in the product and in the tables of the TypeORM baseline. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { v7 as uuidv7 } from 'uuid';

/** @returns the id of a published petition without signatures */
export async function newPetition(call) {
  // A unique name, because repeating the request would return the existing petition.
  const fields = {
    name: `Save the river ${randomUUID()}`,
    title: 'Save the river',
    description: 'Our children swim there. '.repeat(30),
  };
  const { petitionId } = await call('POST', 'petition.create-petition', fields);
  await call('POST', 'petition.publish-petition', { petitionId });
  return petitionId;
}

/** Creates the same petition in the baseline's table. @returns its id */
export async function newBaselinePetition(client, organizationId) {
  const id = randomUUID();
  await client.query(
    `INSERT INTO baseline.petitions (id, "organizationId", name, title, description, status)
     VALUES ($1, $2, 'Save the river', 'Save the river', repeat('Our children swim there. ', 30), 'PUBLISHED')`,
    [id, organizationId],
  );
  return id;
}

/** Imports contacts in several files. @returns their ids */
export async function importContacts(client, port, organizationId, key, count, file = 50_000) {
  for (let done = 0; done < count; done += file) {
    const lines = Array.from({ length: Math.min(file, count - done) }, (_, n) =>
      JSON.stringify(personOf(done + n)),
    );
    const response = await fetch(`http://127.0.0.1:${port}/v1/contact.import-contacts?subscribed=true`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/x-ndjson' },
      body: `${lines.join('\n')}\n`,
    });
    const result = await response.json();
    if (result.data?.created !== lines.length)
      throw new Error(`The import returned ${JSON.stringify(result)}`);
  }
  return contactIds(client, organizationId);
}

/** @returns the ids of all contacts, from the projection */
export async function contactIds(client, organizationId) {
  const { rows: schemas } = await client.query(
    `SELECT nspname FROM pg_namespace WHERE nspname ~ '^contacts_v[0-9]+$' ORDER BY length(nspname) DESC, nspname DESC`,
  );
  const { rows } = await client.query(
    `SELECT id FROM ${schemas[0].nspname}.contacts WHERE organization_id = $1`,
    [organizationId],
  );
  return rows.map(({ id }) => id);
}

/** Creates the same contacts in the baseline's table. */
export async function fillBaselineContacts(client, organizationId, ids) {
  await client.query(
    `INSERT INTO baseline.contacts (id, "organizationId", email, "firstName", "lastName", zip, city, country)
     SELECT id, $1, 'person-' || n || '@example.org', 'Ada', 'Example ' || n, '69001', 'Lyon', 'France'
     FROM unnest($2::uuid[]) WITH ORDINALITY AS t (id, n)`,
    [organizationId, ids],
  );
}

/** Creates the same signatures in the baseline's table. */
export async function fillBaselineSignatures(client, petitionId, contactIds) {
  await client.query(
    `INSERT INTO baseline.signatures (id, "petitionId", "contactId", comment)
     SELECT id, $1, contact_id, NULL FROM unnest($2::uuid[], $3::uuid[]) AS t (id, contact_id)`,
    [petitionId, contactIds.map(() => uuidv7()), contactIds],
  );
  await client.query('UPDATE baseline.petitions SET signatures = $2 WHERE id = $1', [
    petitionId,
    contactIds.length,
  ]);
}

/** @returns requests for `load` that each sign as a new person */
export function signers(petitionId) {
  const contact = { email: 'signer-{n}@example.org', firstName: 'Ada', lastName: 'Example' };
  const body = JSON.stringify({ petitionId, contact, comment: 'I swim there.' });
  return { method: 'POST', path: '/v1/petition.add-signature', body };
}

/** @throws unless the petition counts every acknowledged signature, and no more than were sent */
export async function checkCount(call, petitionId, { answered, sent }) {
  const { signatures } = await call('GET', `petition.get-petition?petitionId=${petitionId}`);
  if (signatures < answered || signatures > sent) {
    throw new Error(
      `${answered} of ${sent} signatures were acknowledged, but the petition counts ${signatures}.`,
    );
  }
}

/** Signs the petition as these contacts. */
export async function signAll(call, petitionId, contactIds) {
  const waiting = [...contactIds];
  const lane = async () => {
    while (waiting.length > 0)
      await call('POST', 'petition.add-signature', { petitionId, contactId: waiting.pop() });
  };
  await Promise.all(Array.from({ length: 64 }, lane));
}

/** @returns up to this many cursors of a list, one for each page except the first */
export async function cursorsOf(port, key, path, pages) {
  const cursors = [];
  for (let next = ''; cursors.length < pages;) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/${path}${next}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    const { pagination, error } = await response.json();
    if (error) throw new Error(JSON.stringify(error));
    if (!pagination.hasMore) break;
    cursors.push(pagination.cursor);
    next = `&cursor=${pagination.cursor}`;
  }
  return cursors;
}

/** A contact without encrypted details, because the baselines do not encrypt anything. */
function personOf(n) {
  const place = { zip: '69001', city: 'Lyon', country: 'France' };
  return { email: `person-${n}@example.org`, firstName: 'Ada', lastName: lastNameOf(n), ...place };
}

/** @returns the last name of the n-th contact, different for each */
export function lastNameOf(n) {
  // Consecutive names differ a lot. None repeats, because 7,919,021 and 10^8 have no common divisor.
  let rest = (n * 7_919_021) % 100_000_000;
  let name = '';
  for (let syllable = 0; syllable < 4; syllable += 1) {
    name += 'bcdfghjklmnprstvwxyz'[rest % 20] + 'aeiou'[Math.floor(rest / 20) % 5];
    rest = Math.floor(rest / 100);
  }
  return name[0].toUpperCase() + name.slice(1);
}

/** Writes a file of ids for `load`. @returns its path */
export async function writeIds(file, ids) {
  await writeFile(file, `${ids.join('\n')}\n`);
  return file;
}
