import { CONTACT_DETAILS } from '../contact.js';
import {
  CONSENT_COLUMNS,
  type ConsentColumn,
  consentIn,
  folded,
  isConsentWord,
  isOptOutWord,
} from './consent.js';
import { EVIDENCE_COLUMNS, type EvidenceColumn } from './evidence.js';

export const MEANINGS = [...CONTACT_DETAILS, ...CONSENT_COLUMNS, ...EVIDENCE_COLUMNS, 'tags'] as const;
/**
 * What a column can mean. Several columns can state or prove consent. Every other meaning belongs to one
 * column.
 */
export type Meaning = (typeof MEANINGS)[number];

export function isConsent(meaning: string | null): meaning is ConsentColumn {
  return CONSENT_COLUMNS.some((one) => one === meaning);
}

export function isEvidence(meaning: string | null): meaning is EvidenceColumn {
  return EVIDENCE_COLUMNS.some((one) => one === meaning);
}

/** Whether only one column can become it. */
export function isOfOneColumn(meaning: string | null): boolean {
  return meaning !== null && !isConsent(meaning) && !isEvidence(meaning);
}

const words = (text: string) => text.trim().split(/\s+/);

/** The names that people and systems give their columns: lower case, letters and digits only, without accents. */
const NAMES: Record<Meaning, readonly string[]> = {
  email: words(`
    email mail emailaddress mailaddress email1 email1value primaryemail emailprimary emailadresse
    mailadresse adresseemail adressemail adresseelectronique courriel correo correoelectronico
    direcciondecorreo
  `),
  firstName: words(`
    firstname givenname forename vorname prenom nombre imie
  `),
  lastName: words(`
    lastname surname familyname nachname familienname name nom apellido apellidos nazwisko
  `),
  phone: words(`
    phone phonenumber telephone tel telefon festnetz telefono can2phone
  `),
  mobile: words(`
    mobile mobilephone mobilenumber cell cellphone mobil handy mobiltelefon movil portable
  `),
  address: words(`
    address street streetaddress adresse strasse anschrift rue direccion can2useraddress primaryaddress1
    address1street strasseprivat
  `),
  zip: words(`
    zip zipcode postcode postalcode plz postleitzahl codepostal codigopostal primaryzip
    address1postalcode postleitzahlprivat
  `),
  city: words(`
    city town ort stadt wohnort ville ciudad can2usercity primarycity address1city ortprivat
  `),
  country: words(`
    country land pays pais primarycountrycode address1country landregionprivat
  `),
  bio: words(`
    bio notes note notizen notiz bemerkung bemerkungen remarques notas
  `),
  subscribed: words(`
    subscribed newsletter emailoptin optin optedin subscriptionstatus emailstatus can2subscriptionstatus
    emailsubscriptionstatus subscribedtoemails emailsubscribed issubscribed subscriberstatus
    memberstatus marketingconsent emailconsent emailmarketing emailpermission acceptsmarketing
    acceptsemailmarketing emailmarketingconsent subscribedtonewsletter abonniert getsmails bekommtemails
    erhaltemails newsletterabonniert einwilligung emaileinwilligung newslettereinwilligung infolettre
    lettredinformation abonne abonnement inscrit inscritalanewsletter consentement suscrito suscripcion
    boletin consentimiento aceptacorreos
  `),
  optOut: words(`
    unsubscribed unsubscribedat unsubtime unsubscribetime unsubscribedate unsubdate dateunsubscribed
    unsubscribedon optout optedout optoutdate emailoptout emailoptedout useroptout isoptout
    hasoptedoutofemail nobulkemail nobulkemails nobulkemailsuseroptout donotemail donotbulkemail
    donotcontact noemail emailblacklisted emailblocklisted blacklisted blocklisted suppressed
    emailsuppressed emaildisabled abgemeldet abgemeldetam newsletterabgemeldet keinnewsletter keineemail
    keineemails keinmailing desabonne desinscrit desinscription datededesinscription nepascontacter
    pasdemail pasdemails refusdemail baja dadodebaja fechadebaja nocontactar noenviarcorreo
    noenviarcorreos
  `),
  bounced: words(`
    bounced bouncedat emailbounced hardbounced hardbounce isbad emailisbad email1isbad invalidemail
    emailinvalid cleantime cleanedat cleaned unzustellbar rebotado rejete
  `),
  complained: words(`
    complained complainedat complaint spamcomplaint markedasspam reportedasspam
  `),
  consentTime: words(`
    consenttime optintime optindate optinat optinon optedinat optedinon optintimestamp confirmtime confirmdate
    confirmedat confirmedon confirmationtime confirmationdate consentdate consentat consentedat consenttimestamp
    dateoptin dateofconsent subscribedat subscribedon subscribedate subscriptiondate datesubscribed
    optinzeit optinzeitpunkt optindatum datumdereinwilligung zeitpunktdereinwilligung einwilligungam einwilligungsdatum einwilligungszeitpunkt
    zustimmungsdatum abonniertam bestatigtam anmeldedatum anmeldezeitpunkt
    datedoptin dateconsentement datedeconsentement dateduconsentement dateabonnement datedabonnement
    dateinscription datedinscription abonnele inscritle
    fechaoptin fechadeoptin fechaconsentimiento fechadeconsentimiento fechadelconsentimiento
    fechasuscripcion fechadesuscripcion fechadealta suscritoel
  `),
  consentIp: words(`
    consentip optinip optinipaddress confirmip confirmipaddress consentipaddress signupip signupipaddress
    subscribeip subscriptionip ipoptin ipsignup einwilligungip ipeinwilligung anmeldeip ipanmeldung
    ipadresseanmeldung ipconsentement ipduconsentement ipinscription adresseipinscription
    ipconsentimiento ipdelconsentimiento ipsuscripcion ipalta direccionipalta
  `),
  consentSource: words(`
    consentsource source optinsource signupsource subscriptionsource subscribesource sourceofconsent
    quelle herkunft anmeldequelle einwilligungsquelle origine sourceduconsentement sourceinscription
    sourcedinscription fuente origen fuentedeconsentimiento origendelconsentimiento origendelalta
  `),
  tags: words(`
    tags tag schlagworte schlagworter etiquettes etiquetas
  `),
};
/** Names that state consent in some systems and something else in others. */
const AMBIGUOUS = ['status', 'statut', 'estado', 'etat', 'optoutstatus'];

/** Parts of names that suggest consent… */
const SUGGESTS = new RegExp(
  [
    'unsub|optout|optedout|optin|optedin|blacklist|blocklist|bounce|donotemail|donotcontact|donotmail|dontemail|nomail|noemail',
    'bulkemail|suppress|subscri|consent|permission|newsletter|spam|complain|gdpr|marketing',
    'abmeld|abgemeld|abonn|einwillig|widerspruch|widerruf|dsgvo|desabon|desinscri|infolettre|rgpd|baja$|suscri|boletin',
  ].join('|'),
);
/** …unless they are about other channels, or describe when, how or why. */
const OTHERWISE =
  /sms|phone|telef|call|fax|whatsapp|push|campaign|reason|source|(?<!unsub\w*)(time|date|ip|text|count|title|id|tags?|name)$/;

function nameOf(column: string): string {
  return folded(column).replaceAll(' ', '');
}

/**
 * What each column becomes, by its name and its values. If two columns mean the same field, the first is chosen.
 *
 * @param values some of each column.
 */
export function recognise(
  columns: readonly string[],
  values: readonly (readonly string[] | undefined)[],
): (Meaning | null)[] {
  const taken = new Set<Meaning>();
  return columns.map((column, n) => {
    const name = nameOf(column);
    const meaning = MEANINGS.find((one) => NAMES[one].includes(name));
    const cells = (values[n] ?? []).filter((cell) => cell.trim() !== '');
    if (meaning === undefined) {
      const isStatus = AMBIGUOUS.includes(name) && cells.length > 0 && cells.every(isConsentWord);
      return isStatus ? 'subscribed' : null;
    }
    if (meaning === 'subscribed' && cells.length > 0 && !cells.some((cell) => consentIn('subscribed', cell)))
      return null;
    if (!isOfOneColumn(meaning)) return meaning;
    if (taken.has(meaning)) return null;
    taken.add(meaning);
    return meaning;
  });
}

/** Whether ignoring this column may lose a "no": by its name, or because a cell contains "unsubscribed". */
export function suggestsOptOut(column: string, cells: readonly string[]): boolean {
  const name = nameOf(column);
  if (OTHERWISE.test(name)) return false;
  return SUGGESTS.test(name) || cells.some(isOptOutWord);
}
