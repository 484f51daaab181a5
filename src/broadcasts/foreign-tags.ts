/**
 * Merge tags of other programs. Ours are in double braces, so these would be sent unchanged. In this order:
 * Mailchimp, ActiveCampaign and Salesforce, Campaign Monitor, MailerLite, Word and CiviCRM.
 */
const ANYTHING = [
  /\*\|[^|\n]{1,60}\|\*/g,
  /%%?[a-z_.]{2,30}%%?/gi,
  /\[\[[\w .]{2,40}\]\]/g,
  /<<\w[\w .]{0,38}\w>>/g,
];
/** These are also used in prose, so only names that we know are tags. */
const KNOWN = [/\[[a-z][\w .]{1,30}(?:,[^\]\n]{0,60})?\](?![([:])/gi, /\{[$!]?[a-z][\w .]{1,40}\}/gi];
/** How addresses spell the characters of tags: `%7B` is `{`. */
const ENCODED = /%(?:20|2A|5B|5D|7B|7C|7D)/gi;

const OURS: [field: string, theirs: string[]][] = [
  ['contact.firstName', ['firstname', 'fname', 'givenname', 'forename', 'prenom', 'vorname', 'nombre']],
  ['contact.firstName', ['name', 'fullname', 'displayname']],
  ['contact.lastName', ['lastname', 'lname', 'surname', 'familyname', 'nachname']],
  ['contact.email', ['email', 'emailaddress', 'mail']],
  ['contact.phone', ['phone', 'phonenumber']],
  ['contact.mobile', ['mobile', 'sms', 'cell']],
  ['contact.address', ['address', 'street', 'streetaddress']],
  ['contact.zip', ['zip', 'zipcode', 'postcode', 'postalcode']],
  ['contact.city', ['city', 'town']],
  ['contact.region', ['region', 'state', 'province']],
  ['contact.country', ['country']],
  ['organization.name', ['company', 'organization', 'organisation', 'listcompany', 'sendername']],
  ['organization.postalAddress', ['listaddress', 'listaddresshtml', 'senderaddress', 'companyaddress']],
  ['unsubscribeUrl', ['unsub', 'unsubscribe', 'unsubscribeurl', 'unsubscribelink', 'optout', 'optouturl']],
];
const BY_NAME = new Map(OURS.flatMap(([field, theirs]) => theirs.map((name) => [name, field] as const)));

/**
 * The merge tags of other programs in a text, each with our field: `*|FNAME|* → {{ contact.firstName }}`.
 *
 * @param text without our own tags. It can be HTML.
 */
export function foreignTagsIn(text: string): string[] {
  const plain = text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replace(ENCODED, decodeURIComponent);
  const found = [
    // Percent-encoded bytes, as in `%C3%BC`, look like the tags of Salesforce.
    ...ANYTHING.flatMap((pattern) => plain.match(pattern) ?? []).filter(
      (tag) => isNamed(tag) || !/^%[\da-f]{2}/i.test(tag),
    ),
    ...KNOWN.flatMap((pattern) => plain.match(pattern) ?? []).filter(isNamed),
  ];
  return [...new Set(found)].map(withOurs);
}

/** @param tag of another program, or an unknown field of ours */
export function withOurs(tag: string): string {
  const field = BY_NAME.get(nameIn(tag));
  return field === undefined ? tag : `${tag} → {{ ${field} }}`;
}

function isNamed(tag: string): boolean {
  return BY_NAME.has(nameIn(tag));
}

/** `{contact.FIRST_NAME}` and `[firstname,fallback=friend]` → `firstname` */
function nameIn(tag: string): string {
  return (tag.split(',', 1)[0]!.split('.').at(-1) ?? '').replace(/[^a-z]/gi, '').toLowerCase();
}
