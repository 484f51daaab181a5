import { invalid, IpAddress, PastTimestamp, Text } from '#libs/rpc';
import { type Evidence } from './consent.js';

/** The evidence for the consent stated in a request. */
export class ConsentFields {
  @Text({
    max: 200,
    optional: true,
    example: 'Sign-up form on our website',
    description: 'Where the person gave or refused consent.',
  })
  source?: string;

  @Text({ max: 2_000, optional: true, description: 'The wording shown to the person.' })
  text?: string;

  @PastTimestamp({
    optional: true,
    description: 'When the person gave or refused consent. Default: the time of the request.',
  })
  at?: string;

  @IpAddress({ optional: true, description: "The person's IP address at that time." })
  ip?: string;

  /** The language of `text` if a page of this server showed it. Not a field. */
  language?: string;
}

/** Normalizes times, so that identical evidence compares as equal. Undefined without evidence. */
export function evidenceOf(given: ConsentFields | undefined): Evidence | undefined {
  const { source, text, language, at, ip } = given ?? {};
  const moment = at && new Date(at).toISOString();
  const said = Object.entries({ source, text, language, at: moment, ip }).filter(
    ([, value]) => value !== undefined,
  );
  return said.length > 0 ? Object.fromEntries(said) : undefined;
}

/** @throws RpcError BAD_REQUEST for evidence without `subscribed`. */
export function requireStated(
  { consent, subscribed }: { consent?: ConsentFields; subscribed?: boolean },
  prefix = '',
): void {
  if (consent === undefined || subscribed !== undefined) return;
  throw invalid([{ path: `${prefix}subscribed`, message: MUST_BE_STATED }]);
}

export const MUST_BE_STATED = 'is required with consent: true if the person agreed, false if not';
