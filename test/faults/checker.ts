import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolved } from '../openapi.js';

/** The result of one attempt: a response, or the reason why there is none. */
export type Outcome =
  | { status: number; contentType: string; text: string }
  | { failure: 'timed out' | 'connection lost' | 'connection refused' };

/** A request, regardless of how often it is sent. */
export type Intent = {
  method: 'GET' | 'POST' | 'DELETE';
  operation: string;
  fields: Record<string, unknown>;
  idempotencyKey?: string | undefined;
  /** The facts that the history must contain exactly once after the request is acknowledged. Empty for a query. */
  leaves: (data: any) => string[];
};

/** The data of an acknowledged attempt, or how the attempt failed. */
export type Verdict = { acknowledged: true; data: any } | { acknowledged: false; how: string };

/** A contact as last written by the client, or null if erased. */
export type KnownContact = { email: string; city: string; firstName: string | null } | null;

/** The final state, read through the API. */
export type Found = {
  /** Lines of event.export-events. */
  events: {
    type: string;
    streamId: string;
    version: number;
    recordedAt: string;
    data: any;
  }[];
  /** Lines of contact.export-contacts. */
  contacts: { id: string; email: string; city: string; firstName: string | null }[];
  petition: { id: string; signatures: number };
  list: { id: string; contacts: number };
};

/** The event types that the load causes. Others, such as those of keys, are ignored. */
const CHECKED =
  /^(Contact(Created|Updated|Erased|AddedToList|RemovedFromList)|Petition(Created|Published|Signed)|SignatureWithdrawn|Post(Created|Published))$/;

/** Facts as strings that are equal for the effect of a request and for its event. */
export const fact = {
  of: (type: string, id: string) => `${type} ${id}`,
  link: (type: string, recordId: string, contactId: string) => `${type} ${recordId} ${contactId}`,
};

/**
 * Records everything that was acknowledged, and then reports what is missing (lost), what exists more often than requested
 * (doubled), and responses that the specification does not allow (outside). Each is a list of messages.
 */
export class Checker {
  requests = 0;
  acknowledged = 0;
  /** The number of failed attempts by kind of failure. */
  readonly failures = new Map<string, number>();
  readonly outside: string[] = [];
  readonly contacts = new Map<string, KnownContact>();

  private readonly expected = new Map<string, number>();
  private readonly misread: string[] = [];

  /** @param isPreviousToo whether instances of the previous version respond, which lack later fields */
  constructor(private readonly isPreviousToo = false) {}

  /** Evaluates one attempt. A valid request may only get 200 or 503, whatever breaks behind the server. */
  judge(intent: Intent, outcome: Outcome): Verdict {
    this.requests += 1;
    if ('failure' in outcome) return this.failed(outcome.failure);
    const { method, operation } = intent;
    const problem = problemOf(method, operation, outcome, this.isPreviousToo);
    if (problem !== undefined) this.outside.push(`${method} ${operation}: ${problem}`);
    if (problem !== undefined || outcome.status !== 200) return this.failed(describe(outcome));
    const { data } = JSON.parse(outcome.text);
    this.acknowledged += 1;
    for (const left of intent.leaves(data)) add(this.expected, left);
    return { acknowledged: true, data };
  }

  /** Compares a contact that another instance returned immediately after the write was acknowledged. */
  read(contactId: string, { email, city, firstName }: NonNullable<KnownContact>): void {
    const known = this.contacts.get(contactId);
    const found = [email, city, firstName].join(', ');
    const wanted = known ? [known.email, known.city, known.firstName].join(', ') : 'nothing';
    if (found !== wanted) this.misread.push(`contact ${contactId} was read as ${found}, not as ${wanted}`);
  }

  compare({ events, contacts, petition, list }: Found): { lost: string[]; doubled: string[] } {
    const lost = [...this.misread];
    const doubled: string[] = [];
    const differ = (what: string, wanted: number, found: number) => {
      if (found < wanted) lost.push(`${what}: ${found} instead of ${wanted}`);
      if (found > wanted) doubled.push(`${what}: ${found} instead of ${wanted}`);
    };

    const found = new Map<string, number>();
    for (const event of events) if (CHECKED.test(event.type)) add(found, factOf(event));
    for (const one of new Set([...this.expected.keys(), ...found.keys()])) {
      differ(one, this.expected.get(one) ?? 0, found.get(one) ?? 0);
    }
    lost.push(...disorders(events));

    const exported = new Map(contacts.map((contact) => [contact.id, contact]));
    differ('contacts exported', exported.size, contacts.length);
    for (const { id } of contacts) if (!this.contacts.get(id)) doubled.push(`contact ${id} should not exist`);
    for (const [id, known] of this.contacts) {
      const { email, city, firstName } = exported.get(id) ?? {};
      if (known && (email !== known.email || city !== known.city || firstName !== known.firstName)) {
        lost.push(`contact ${id}: exported as ${email}, ${city}, ${firstName}`);
      }
    }

    // An erasure keeps signatures in the count, and ends memberships.
    const count = (type: string, id: string) =>
      [...this.expected.keys()].filter((one) => one.startsWith(fact.link(type, id, '')));
    differ(
      'signatures counted',
      count('PetitionSigned', petition.id).length - count('SignatureWithdrawn', petition.id).length,
      petition.signatures,
    );
    const removed = new Set(count('ContactRemovedFromList', list.id).map(contactOf));
    const members = count('ContactAddedToList', list.id).map(contactOf);
    const remaining = members.filter((id) => !removed.has(id) && this.contacts.get(id) !== null);
    differ('contacts counted', remaining.length, list.contacts);
    return { lost, doubled };
  }

  private failed(how: string): Verdict {
    add(this.failures, how);
    return { acknowledged: false, how };
  }
}

/** Why a response violates the specification, or undefined if it conforms. */
function problemOf(
  method: string,
  operation: string,
  { status, contentType, text }: Extract<Outcome, { status: number }>,
  isPreviousToo: boolean,
): string | undefined {
  const response = `${status} ${text.slice(0, 200)}`;
  if (status !== 200 && status !== 503) return `must not return ${response}`;
  if (!contentType.startsWith('application/json')) return `returns ${contentType || 'no type'}: ${response}`;
  let body: any;
  try {
    body = JSON.parse(text);
  } catch {
    return `returns invalid JSON: ${response}`;
  }
  const schema = schemaOf(method, operation, status);
  if (schema === undefined) return `does not document ${response}`;
  const problem = mismatch(schema, body, 'body', isPreviousToo);
  return problem === undefined ? undefined : `${problem}: ${response}`;
}

type Schema = {
  $ref?: string;
  allOf?: Schema[];
  type?: string | string[];
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, Schema>;
};

const document = JSON.parse(readFileSync(join(__dirname, '../openapi.json'), 'utf8'));

function schemaOf(method: string, operation: string, status: number): Schema | undefined {
  const { responses } = document.paths[`/v1/${operation}`][method.toLowerCase()];
  return responses[status]?.content['application/json'].schema;
}

/** Checks the parts of JSON Schema that the document's responses use: required and unknown properties, types and enums. */
function mismatch(schema: Schema, value: unknown, path: string, isPreviousToo: boolean): string | undefined {
  if (schema.$ref !== undefined || schema.allOf)
    return mismatch(resolved(document, schema), value, path, isPreviousToo);
  if (schema.enum && !schema.enum.includes(value)) return `${path} is ${JSON.stringify(value)}`;
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => isA(type, value)))
    return `${path} is not ${types.join(' or ')}`;
  if (typeof value !== 'object' || value === null || !schema.properties) return undefined;
  const members = value as Record<string, unknown>;
  const missing = schema.required?.find((name) => !(name in members));
  if (missing !== undefined && !isPreviousToo) return `${path} lacks ${missing}`;
  if (schema.type !== undefined) {
    const unknown = Object.keys(members).find((name) => !(name in schema.properties!));
    if (unknown !== undefined) return `${path} has ${unknown}`;
  }
  for (const [name, inner] of Object.entries(schema.properties)) {
    const problem =
      name in members ? mismatch(inner, members[name], `${path}.${name}`, isPreviousToo) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isA(type: string, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

function describe({ status, text }: Extract<Outcome, { status: number }>): string {
  const reason = /"reason":"(\w+)"/.exec(text)?.[1];
  return reason === undefined ? String(status) : `${status} ${reason}`;
}

function factOf({ type, streamId, data }: Found['events'][number]): string {
  const recordId: unknown = data.petitionId ?? data.listId;
  return typeof recordId === 'string' ? fact.link(type, recordId, data.contactId) : fact.of(type, streamId);
}

const contactOf = (link: string) => link.split(' ')[2]!;

/** Events whose version is not the next one of their stream, or whose time goes back. */
function disorders(events: Found['events']): string[] {
  const last = new Map<string, Found['events'][number]>();
  const disordered: string[] = [];
  for (const event of events) {
    const before = last.get(event.streamId);
    const where = `${event.type} ${event.streamId}`;
    if (event.version !== (before?.version ?? 0) + 1) disordered.push(`${where}: version ${event.version}`);
    if (before && event.recordedAt < before.recordedAt) disordered.push(`${where}: its time goes back`);
    last.set(event.streamId, event);
  }
  return disordered;
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
