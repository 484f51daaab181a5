import { momentIn } from './evidence.js';

/** Why an address must not receive email, according to another system. */
export type Blocked = 'BOUNCED' | 'COMPLAINED';

/** A cell's statement about consent; undefined if it states nothing. */
export type Consent = { subscribed?: boolean; blocked?: Blocked };

/** The kinds of columns that state consent. */
export const CONSENT_COLUMNS = ['subscribed', 'optOut', 'bounced', 'complained'] as const;
export type ConsentColumn = (typeof CONSENT_COLUMNS)[number];

/** Lower case, without accents, words separated by one space: "Opted-Out" and "opted_out" are the same. */
export function folded(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

const words = (text: string) => new Set(text.split(',').map((word) => word.trim().replace(/\s+/g, ' ')));

/**
 * Words for "yes" in exports of other systems and in handmade tables: English, German, French and Spanish,
 * folded.
 */
const YES = words(`
  true, t, yes, y, 1, x, on, express, explicit, implied, subscribed, active, confirmed, enabled, checked, agreed, granted, given,
  opted in, opt in, optin, optedin, erteilt, accorde, concedido, ja, j, wahr, abonniert, angemeldet, aktiv, bestatigt, oui, vrai, abonne, abonnee,
  inscrit, inscrite, actif, confirme, si, verdadero, suscrito, suscrita, activo, confirmado, alta, dado de alta
`);
const NO = words(`
  false, f, no, n, 0, off, unsubscribed, not subscribed, never subscribed, non subscribed, opted out, opt
  out, optout, optedout, pending, unconfirmed, inactive, disabled, blocked, blocklisted, blacklisted,
  suppressed, deactivated, no permissions set, no permission, not set, pending confirmation, awaiting confirmation,
  temporary hold, cancelled, canceled, archived, deleted, removed, unsubscribe, transactional, soft
  bounced, soft bounce, do not email, nein, falsch, abgemeldet, nicht abonniert, inaktiv, gesperrt,
  unbestatigt, ausstehend, non, faux, desabonne, desabonnee, desinscrit, desinscrite, inactif, en
  attente, bloque, falso, baja, dado de baja, inactivo, pendiente, cancelado, bloqueado, no suscrito, non abonne, non inscrit,
  withdrawn, revoked, refused, declined, denied, not given, not granted, pending opt in, mail blocked, mailblocked, softbounced,
  held, on hold, suspended, purged, stop, widerrufen, verweigert, abgelehnt, nicht erteilt, nicht angemeldet, gekundigt,
  abbestellt, ausgetragen, geloscht, deaktiviert, refuse, retire, desactive, desactivee, revocado, retirado, denegado,
  rechazado, desactivado, bloquee, previous bounce, previous spam complaint, withheld, redacted, unknown, do not allow, do not send,
  unbekannt, inconnu, desconocido, deceased, verstorben, decede, decedee, fallecido, fallecida, ausgetreten
`);
const BOUNCED = words(`
  bounced, bouncing, bounce, hard bounced, hard bounce, hardbounce, hardbounced, cleaned, undeliverable, undelivered,
  unzustellbar, zuruckgewiesen, bereinigt, rejete, non distribuable, nettoye, rebotado, devuelto, limpiado
`);
const COMPLAINED = words(`
  complained, complaint, complaints, isspcomplained, directcomplaint, spam, spam complaint, marked as spam, reported spam, junk,
  beschwerde, plainte, queja
`);
/** Texts that some systems write into empty cells. */
const EMPTY = new Set(['', 'null', 'n a', 'na', 'nil', 'undefined']);
/** "No" in a `subscribed` column. In a column that states who opted out or when, it states nothing. */
const NEVER = new Set(['never', 'none', 'nie', 'jamais', 'nunca']);

/** What someone does not want: email, or to be contacted at all. Folded, as the phrases below. */
const MAIL =
  '(?:e ?)?mails?|(?:an)?mailen|newsletters?|mailings?|rundbriefe?|werbung|kontakt\\w*|anschreiben|angeschrieben|post|contact\\w*|correos?|courriels?|infolettres?|boletin(?:es)?|publicidad|publicite|ecrire|escribir|molestar|disturb|solicit';
const FILLERS =
  'mehr|more|any|further|weiteren?|want|wants|receive|send|to|by|per|via|senden|erhalten|quiere|desea|mas|par|por|de|d|les|recibir|enviar|envoyer|recevoir|our|your|these|unsere\\w?|eure|ihre|nos|vos|vuestros|nuestros|sus';
/** Phrases of a refusal, which may be followed by a date or a reason. */
const OPT_OUT = new RegExp(
  `(?:^| )(?:${[
    'un ?sub(?:s|bed|scri\\w*)?|opt(?:ed|s|ing)? ?outs?|dnc|dne|dnm|noe?mails?|(?:ex|former) ?(?:subscri|abonn|suscri)\\w*',
    `(?:do not|don ?t|never|no|not|stop|kein\\w{0,5}|nicht|nie|pas|plus|jamais|non|sin|sans|nunca)(?: (?:${FILLERS})){0,3} (?:${MAIL})`,
    '(?:not|never|no|nicht|non|pas|plus) (?:subscri|abonn|inscri|suscri|angemeld)\\w*',
    'ab(?:ge)?meld\\w*|ab(?:ge)?bestell\\w*|aus(?:ge)?tragen|des ?(?:abon|inscri|s?uscri|subscri)\\w*',
    '(?:dad[oa]|dar|darse) de baja|baja (?:correo|newsletter|boletin|voluntaria|\\d)\\w*',
    'remov(?:e|ed|al) (?:\\w+ ){0,2}from (?:\\w+ ){0,3}(?:lists?|newsletters?|mailings?|e ?mails?)',
    'aus (?:dem|den|unserem|allen) (?:e ?mail |newsletter )?verteilern?|(?:e ?mail|mail|werbe|kontakt|newsletter)sperren?|sperr(?:liste|vermerk)',
    '(?:bad|invalid|bounced) (?:e ?)?mail|(?:e ?)?mail (?:bounced|invalid)',
    '(?:black|block|deny) ?list\\w*|suppressed|suppression list|complain(?:ed|er)|isspcomplained|directcomplaint',
    '(?:no|without|withdr[ae]wn?|revoked|refused) (?:consent|permission)|consent (?:withdrawn|revoked|refused|denied)',
    '(?:keine|ohne) (?:einwilligung|erlaubnis|zustimmung)|widerruf\\w*|widersprochen|sans consentement|sin consentimiento',
  ].join('|')})(?: |$)`,
);
/** A longer text is a note. */
const LONGEST_REFUSAL = 100;

/** Whether a tag or another short text says that someone gets no email. An unmapped column that contains one must not be ignored silently. */
export function isOptOutWord(cell: string): boolean {
  if (cell.length > LONGEST_REFUSAL || !/\p{L}{2}/u.test(cell)) return false;
  const word = folded(cell);
  return BOUNCED.has(word) || word === 'baja' || OPT_OUT.test(word);
}

/** Whether the name of a tag or list says that its contacts get no email, also by a status such as "Inactive". */
export function isRefusalName(name: string): boolean {
  const word = folded(name);
  const isStatus = word.length > 3 && (NO.has(word) || COMPLAINED.has(word));
  return isOptOutWord(name) || (isStatus && !isNo(name));
}

/** Whether a sentence of a note says that someone gets no email. */
export function isRefusalNote(note: string): boolean {
  return note.split(/[.!?;\r\n]+/).some((sentence) => OPT_OUT.test(folded(sentence)));
}

/** Whether a cell is a plain "no", such as "NEIN" or "No, thanks", whatever the question. */
export function isNo(cell: string): boolean {
  return (
    cell.length <= LONGEST_REFUSAL &&
    /^(no|nein|non|nope|nee|false|falsch|faux|falso)( (thanks?|thank you|danke|merci|gracias|please|bitte))*$/.test(
      folded(cell),
    )
  );
}

/** Whether a cell may be a "no" if the question is about email. Numbers may also be counts. */
export function mayRefuse(cell: string): boolean {
  const word = wordIn(cell);
  if (/^\d/.test(word)) return false;
  return (
    consentIn('subscribed', cell)?.subscribed === false ||
    isOptOutWord(cell) ||
    /^(no|nein|non|nope|nee|never|nie|niemals|jamais|nunca|ne|kein\w*) |(^| )(nicht|not|pas)( |$)/.test(word)
  );
}

/** Words that a status has only if it is about consent. */
export function isSubscription(cell: string): boolean {
  return /^(subscri|abonn|inscrit|suscri|opt(ed)? ?in)/.test(folded(cell));
}

/** Whether a cell begins with yes or no, such as "No thanks". */
export function isAnswer(cell: string): boolean {
  return isConsentWord(cell) || /^(yes|no|ja|nein|oui|non|si)( |$)/.test(folded(cell));
}

/** Whether a column like `status`, which may also belong to a membership, contains values about consent. */
export function isConsentWord(cell: string): boolean {
  const word = wordIn(cell);
  const known = [YES, NO, NEVER, BOUNCED, COMPLAINED, EMPTY, NOT_MARKED];
  return word in MARKS || known.some((words) => words.has(word));
}

/** Marks of a `subscribed` column. A crossed box is not among them: whether it is chosen depends on the form. */
const MARKS: { [mark: string]: string } = { '✓': 'yes', '✔': 'yes', '☑': 'yes', '✅': 'yes' };
for (const mark of '✗✘✖❌☐') MARKS[mark] = 'no';
/** What people write into cells of a column of refusals that does not apply. */
const NOT_MARKED = new Set(['-', '–', '—', '.', '☐']);

/** Marks have no letters. They must not count as an empty cell. */
function wordIn(cell: string): string {
  const text = cell.trim().replace(/\uFE0F$/, '');
  return folded(text) || text;
}

/** @returns undefined if the cell of a `subscribed` column is not one of the known words. */
export function consentIn(kind: ConsentColumn, cell: string): Consent | undefined {
  const word = wordIn(cell);
  if (EMPTY.has(word)) return {};
  if (kind === 'subscribed') {
    if (BOUNCED.has(word)) return { subscribed: false, blocked: 'BOUNCED' };
    if (COMPLAINED.has(word)) return { subscribed: false, blocked: 'COMPLAINED' };
    if (NO.has(word) || NEVER.has(word)) return { subscribed: false };
    // Yes in tables of Microsoft Access, no in those of Salsa.
    if (cell.trim() === '-1') return undefined;
    if (word in MARKS) return { subscribed: MARKS[word] === 'yes' };
    // When they subscribed: a time, or zeros.
    if (/^0[ 0]*$/.test(word)) return { subscribed: false };
    return YES.has(word) || momentIn(cell) !== undefined ? { subscribed: true } : undefined;
  }
  const negative = ['false', 'f', 'no', 'n', '0', 'off', 'nein', 'falsch', 'non', 'faux', 'falso'];
  const harmless =
    'subscribed, active, confirmed, enabled, opted in, valid, good, ok, allow, allowed, send'.split(', ');
  if (
    NEVER.has(word) ||
    NOT_MARKED.has(word) ||
    /^0[ 0]*$/.test(word) ||
    [...negative, ...harmless].includes(word)
  )
    return {};
  // Any other value counts too, such as a date or a reason: a mistake must never lead to email to someone who
  // refused.
  if (kind === 'bounced' && /opt ?out/.test(word)) return { subscribed: false };
  if (kind === 'bounced') return word.startsWith('soft') ? {} : { subscribed: false, blocked: 'BOUNCED' };
  if (kind === 'complained') return { subscribed: false, blocked: 'COMPLAINED' };
  if (BOUNCED.has(word)) return { subscribed: false, blocked: 'BOUNCED' };
  if (COMPLAINED.has(word)) return { subscribed: false, blocked: 'COMPLAINED' };
  return { subscribed: false };
}

/** One "no" outweighs every "yes". */
export function together(said: readonly Consent[]): Consent {
  const blocked = said.find((one) => one.blocked !== undefined)?.blocked;
  if (said.some(({ subscribed }) => subscribed === false))
    return { subscribed: false, ...(blocked && { blocked }) };
  return said.some(({ subscribed }) => subscribed === true) ? { subscribed: true } : {};
}
