import { folded } from './consent.js';

/** How people ask for a yes or no in the name of a column: "Newsletter (ja/nein)". */
const ANSWERS = /[([]?\b(?:yes|ja|oui|s[ií]|y|j|o)\s*[/|,]\s*(?:nein|non|no|n)\b[)\]]?/i;

/** The name without the possible answers. */
export function withoutAnswers(column: string): string {
  return column.replace(ANSWERS, ' ');
}

/** Phrases that count as one word. */
const PHRASES: [phrase: RegExp, word: string][] = [
  [/\bopt(?:ed|s|ing)? outs?\b/g, 'optout'],
  [/\bopt(?:ed|s|ing)? ins?\b/g, 'optin'],
  [/\bun sub/g, 'unsub'],
  [/\bdon t\b/g, 'not'],
  // One denial of two words: "ne … pas".
  [/\b(?:ne|n)\b(?=.*\b(?:pas|plus|jamais)\b)/g, ''],
  [/\be mail/g, 'email'],
  [/\b(black|block|deny) list/g, '$1list'],
  [/\bliste noire\b|\blista negra\b/g, 'blacklist'],
];

/** Someone refused, whatever else the name says. */
const REFUSED =
  /^(unsub|optout|dnc$|dne$|dnm$|noemail|nomail|blacklist|blocklist|denylist|suppress|desab|desins|desus|baja$|robinson)|abmeld|abgemeld|abbestell|austrag|ausgetrag|widersp[ro]|widerruf|sperre$|sperren$|sperrliste|sperrvermerk/;
/** Someone refused, if it is about email: otherwise, something else may have been refused, blocked or cancelled. */
const REFUSED_EMAIL =
  /^(refus|rechaz|declin|denied|withdr|revok|revoc|object|oppos|opose|oposic|block(ed)?$|bloque|bloqu|gesperrt|stop(ped)?$|exclu|ausgeschlossen|retrait|retir|remov|entfern|gestrichen|geloscht|cancel|gekundigt|kundig|abgelehnt|verweigert)/;
const DENIED = /^(no|not|non|never|without|kein\w{0,5}|nicht|nie|ohne|pas|plus|jamais|sans|sin|nunca|ne)$/;
const NEWSLETTER = /^(newsletters?|newsletterempfang|infolettres?|rundbriefe?|boletin(es)?)$/;
const EMAIL = /^(e?mails?|emailings?|correos?|courriels?|email(versand|marketing)|mailversand)$/;
/** By any way, or by email. */
const CONTACT =
  /^(contact\w*|kontakt\w*|werbung|publicidad|publicite|marketing|mailen|anschreiben|angeschrieben|ecrire|escribir|write|verteiler\w*|mailings?|envios|versand|list[ea]?s?|send|senden|envoyer|enviar)$/;
/** Words of agreement, such as "Consent". */
const AGREED = /^(optin$|einwillig|consent|permission|subscri|abonn|suscri)/;
/** Words of wishes, such as "Receives". Alone, they do not show that the wish is about email. */
const WANTED =
  /^(inscri|zustimm|erlaub|permis|accept|acept|akzept|agree|want|wish|like$|wunsch|erwunscht|gewunscht|mochte|darf$|may$|can$|desea|quiere|souhait|veut|receives?$|recib[ei]|recoi|recevoir|erhalt|bezieht$|anmeld|angemeld|newsletteranmeld|gets?$)/;
/** Words that change nothing. `c` ends the names of fields in Salesforce. */
const FILLERS = new Set(
  (
    'a al all alle allen alles am an any at au aus aux been bei bitte bulk by c d date datum de del dem den der des die dio do does du durch ' +
    'e el en est fecha field for from fur global has hat have i im in is ist l la las le les los mas mehr more now of on our par per ' +
    'please por se si since status the their time to um un unser unsere unseren user via vom von us was we with y your zu zum zur'
  ).split(' '),
);
const ROLES = [REFUSED, REFUSED_EMAIL, DENIED, NEWSLETTER, EMAIL, CONTACT, AGREED, WANTED];

/**
 * The meaning of "yes" in a column with this name: the person wants email, or has refused it. Undefined if the name contains a word about
 * something else, or two denials, such as "Not unsubscribed".
 */
export function questionIn(column: string): 'subscribed' | 'optOut' | undefined {
  const spaced = withoutAnswers(column).replace(/(\p{Ll})(?=\p{Lu})/gu, '$1 ');
  const text = PHRASES.reduce((name, [phrase, word]) => name.replace(phrase, word), folded(spaced));
  const words = text.split(' ').filter((word) => word !== '');
  const has = (...roles: RegExp[]) => words.some((word) => roles.some((role) => role.test(word)));
  const isKnown = (word: string) => FILLERS.has(word) || ROLES.some((role) => role.test(word));
  if (!words.every(isKnown)) return undefined;
  const isAbout = has(NEWSLETTER, EMAIL, CONTACT, AGREED, WANTED);
  const refuses = has(REFUSED) || (isAbout && has(REFUSED_EMAIL));
  const denials = words.filter((word) => DENIED.test(word)).length;
  if (Number(refuses) + denials > 1 || (refuses && words.includes('optin'))) return undefined;
  if (refuses || (denials > 0 && isAbout)) return 'optOut';
  const agrees = (has(NEWSLETTER) && has(AGREED, WANTED)) || (has(EMAIL) && has(AGREED));
  return agrees && !has(REFUSED_EMAIL) ? 'subscribed' : undefined;
}
