import { CONTACT_DETAILS } from '../contact.js';
import {
  CONSENT_COLUMNS,
  type ConsentColumn,
  consentIn,
  folded,
  isAnswer,
  isConsentWord,
  isNo,
  isOptOutWord,
  isRefusalNote,
  isSubscription,
  mayRefuse,
} from './consent.js';
import { questionIn, withoutAnswers } from './column-questions.js';
import { type FieldDefinition } from '../../fields/index.js';
import { EVIDENCE_COLUMNS, type EvidenceColumn, momentIn } from './evidence.js';
import { isSignatureStatus, SIGNATURE_COLUMNS, type SignatureColumn } from './signed-rows.js';

/** The columns that name records of other modules. */
const NAMING_COLUMNS = ['tags', 'lists'] as const;

export const MEANINGS = [
  ...CONTACT_DETAILS,
  'externalIds',
  'name',
  ...CONSENT_COLUMNS,
  ...EVIDENCE_COLUMNS,
  ...NAMING_COLUMNS,
] as const;
/**
 * What a column can mean. Several columns can state or prove consent, or contain external ids. Every other
 * meaning belongs to one column. `name` contains the first and the last name, `customFields.key` the values of a custom field.
 */
export type Meaning = FixedMeaning | `${typeof CUSTOM}${string}`;
type FixedMeaning = ContactMeaning | SignatureColumn;
type ContactMeaning = (typeof MEANINGS)[number];
/** The start of the meaning of a column with values of a custom field. The field's key follows. */
const CUSTOM = 'customFields.';

export function isConsent(meaning: string | null): meaning is ConsentColumn {
  return CONSENT_COLUMNS.some((one) => one === meaning);
}

export function meaningsIn(hasSignatures: boolean): FixedMeaning[] {
  return [...MEANINGS, ...(hasSignatures ? SIGNATURE_COLUMNS : [])];
}

export function isOfSignature(meaning: string | null): meaning is SignatureColumn {
  return SIGNATURE_COLUMNS.some((one) => one === meaning);
}

export function isEvidence(meaning: string | null): meaning is EvidenceColumn {
  return EVIDENCE_COLUMNS.some((one) => one === meaning);
}

/** Whether only one column can become it. */
export function isOfOneColumn(meaning: string | null): boolean {
  return meaning !== null && meaning !== 'externalIds' && !isConsent(meaning) && !isEvidence(meaning);
}

const words = (text: string) => text.trim().split(/\s+/);

/** The names that people and systems give their columns: lower case, letters and digits only, without accents. */
const NAMES: Record<ContactMeaning, readonly string[]> = {
  email: words(`
    email mail emailaddress mailaddress email1 email1value primaryemail emailprimary preferredemail
    emailadresse mailadresse adresseemail adressemail adressedemessagerie adressecourriel
    adresseelectronique courriel correo correoelectronico direcciondecorreo
    direcciondecorreoelectronico
  `),
  firstName: words(`
    firstname givenname forename first vorname prenom nombre nombredepila imie
  `),
  lastName: words(`
    lastname surname familyname last nachname familienname nomdefamille apellido apellidos nazwisko
  `),
  phone: words(`
    phone phonenumber telephone tel homephone preferredphone primaryphone phone1value telefon
    telfixe telephonefixe fixe telephonedomicile particular telefonoparticular telefondomicilio
    landline landlinenumber phonehome telefonnummer telefonprivat festnetz telefono can2phone
  `),
  mobile: words(`
    mobile mobilephone mobilenumber mobileno mobilnr handynr phonemobile telmobile telportable cell cellphone sms mobil handy mobiltelefon mobilnummer handynummer
    movil portable telephoneportable telephonemobile telefonomovil
  `),
  address: words(`
    address street streetaddress addressline1 address1 mailingaddress homestreet adresse strasse
    strasseundhausnummer strassenr strassehausnr maddress streetaddressline1 ruedomicile calle calledeldomicilio
    domicilio anschrift rue direccion can2useraddress primaryaddress1 address1street
    strasseprivat
  `),
  zip: words(`
    zip zipcode zip5 mzip5 mzip cp codepostaldomicile codigopostalderesidencia postcode postalcode zippostal zippostalcode mailingzip homepostalcode plz postleitzahl
    codepostal codigopostal primaryzip address1postalcode postleitzahlprivat
  `),
  city: words(`
    city town mcity commune localidad poblacion municipio villedomicile ciudadderesidencia mailingcity homecity ort stadt wohnort ville ciudad can2usercity primarycity address1city
    ortprivat
  `),
  region: words(`
    region state homestate mstate depregiondomicile provinciaoestadoderesidencia estado stateprovince province county bundesland provinz kanton canton departement provincia comunidadautonoma
    addressstate primarystate address1stateorprovince address1region regionprivat bundeslandkantonprivat
    can2userstate can2stateabbreviated billingstate
  `),
  externalIds: words(`
    externalid externalids externalidentifier nationbuilderid civicrmid internalcontactid internekontaktid vanid
    voterfilevanid euid externeid externeids externekennung idexterne identifiantexterne idexterno
    identificadorexterno
  `),
  country: words(`
    country countrycode cc homecountryregion paysregiondomicile paisoregionderesidencia land pays pais primarycountrycode address1country
    landregionprivat
  `),
  bio: words(`
    bio notes note notizen notiz bemerkung bemerkungen remarques notas
  `),
  name: words(`
    name fullname displayname contactname subscribername lastnamefirstname fileas namevorname
    nachnamevorname vornamename vornamenachname vollername vollstandigername nom nomcomplet nometprenom
    nomprenom prenomnom prenometnom nombrecompleto nombreyapellido nombreyapellidos apellidosnombre
    apellidosynombre
  `),
  subscribed: words(`
    subscribed newsletter emailoptin optin optedin subscriptionstatus emailstatus can2subscriptionstatus
    emailsubscriptionstatus globalstatus liststatus emailpermissionstatus activated subscribedtoemails emailsubscribed issubscribed subscriberstatus
    emailsubscriberstatus receiveemail receiveemails optinemail optinstatus newsletterempfanger memberstatus marketingconsent emailconsent emailmarketing emailpermission acceptsmarketing
    acceptsemailmarketing emailmarketingconsent subscribedtonewsletter abonniert getsmails bekommtemails
    erhaltemails newsletterabonniert einwilligung emaileinwilligung newslettereinwilligung infolettre
    lettredinformation abonne abonnement inscrit inscritalanewsletter consentement suscrito suscripcion
    boletin consentimiento aceptacorreos
  `),
  optOut: words(`
    deceased isdeceased deceasedat dateofdeath deathdate verstorben verstorbenam sterbedatum todesdatum decede
    decedee datededeces fallecido fallecida fechadefallecimiento donotallowbulkemails donotallowemails
    unsubscribedfromallemail globalunsubscribe dateofoptout emailoptoutdate ausgetragen ausgetragenam austragung
    stopemail unsubscribed unsubscribedat deactivated deactivatedat deaktiviert deaktiviertam unsubtime unsubscribetime unsubscribedate unsubdate dateunsubscribed
    unsubscribedon optout optedout optoutdate emailoptout emailoptedout useroptout isoptout
    hasoptedoutofemail nobulkemail nobulkemails nobulkemailsuseroptout donotemail donotbulkemail
    confirmedoptoutdate keineemailssenden keinemassenemailsabmeldungdurchbenutzer keinemassenemails
    donotcontact noemail emailblacklisted emailblocklisted blacklisted blocklisted suppressed
    emailsuppressed emaildisabled abgemeldet abgemeldetam newsletterabgemeldet newsletterabbestellt abbestellt abbestelltam keinnewsletter keineemail
    keineemails keinmailing desabonne desinscrit desinscription datededesinscription nepascontacter
    pasdemail pasdemails refusdemail baja dadodebaja fechadebaja nocontactar noenviarcorreo
    noenviarcorreos
  `),
  bounced: words(`
    undeliverable emailundeliverable bademail emailbad nichtzustellbar nondistribuable noentregable
    bounced bouncedat onhold emailonhold onholdstatus emailbounced hardbounced hardbounce isbad emailisbad email1isbad invalidemail
    emailinvalid cleantime cleanedat cleaned unzustellbar rebotado rejete
  `),
  complained: words(`
    complained complainedat complaint complaintdate spamcomplaint markedasspam reportedasspam
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
    tags tag taglist tagnames can2usertags labels label groupmembership activistcodes categories
    schlagworte schlagworter stichworte kategorien etiquettes categories etiquetas categorias
  `),
  lists: words('lists'),
};
/** In files of signatures, these come first. Their statuses are recognized by their values. */
const NAMES_OF_SIGNATURES: Record<SignatureColumn, readonly string[]> = {
  signedAt: words(`
    signedat signedon signed datesigned signeddate signaturedate dateofsignature signaturetime signaturecreatedat actiondate
    unterschriebenam unterzeichnetam gezeichnetam unterschriftsdatum datumderunterschrift datumderunterzeichnung
    signele signeele datedesignature datedelasignature datesignature
    firmadoel firmadael fechadefirma fechadelafirma fechafirma
  `),
  comment: words(`
    comment comments reason reasons reasonforsigning whyimsigning whysigned personalmessage message petitioncomment
    kommentar kommentare begrundung grund nachricht warumichunterschreibe
    commentaire commentaires raison raisons motif message pourquoijesigne
    comentario comentarios motivo razon mensaje porquefirmo
  `),
  source: words(`
    source sourcecode sourcecodes can2source referrer referrersource referrerdatasource utmsource via
    quelle herkunft origine fuente origen procedencia
  `),
  status: [],
};
/** Names of the time of signing, unless another column has one of those above. */
const SIGNED_AT = words(`
  createdat createdon createddate datecreated timestamp timestamputc date datum zeitpunkt erstelltam
  creele datedecreation fecha fechadecreacion creadoel
`);
/** Names that state consent in some systems and something else in others. */
const AMBIGUOUS = ['status', 'state', 'statut', 'estado', 'etat', 'optoutstatus'];
/** Last names next to a column of first names, and the other way round; otherwise whole names. */
const SHORT_NAMES = ['name', 'nom'];

/** HubSpot has one column for each kind of email: "Opted out of email: Newsletter". */
const OPTED_OUT_OF = /^opted?outofe?mail/;

/** Constant Contact has one column for each kind of address: "Email address - home". */
const KIND = / - (other|home|primary)$/i;

/** A question such as "Accepte la newsletter" or "Happy to receive emails?": whether someone wants… */
const WANTS =
  /^(accept|acept|akzept|agree|allow|erlaub|permit|permis|autori[sz]|consent|happy|like|want|wish|darf|mochte|willige|wunsch|einverstanden|zustimm|souhait|veut|quiere|desea)/;
/** …email. */
const OF_EMAIL =
  /^(e|emails?|mails?|newsletters?|infolettres?|rundbriefe?|boletin|boletines|correos?|courriels?)$/;
/** Questions about email, or about something else. */
const MAY_BE_OF_EMAIL =
  /^(contact(er|ar|o)?|kontakt\w*|informed|mailings?|mailen|anschreiben|news|touch|updates?)$/;
/** Words that may turn the question into its opposite. */
const DENIES =
  /^(no|not|non|dont|don|never|stop|un|out|kein|keine|keinen|nicht|nie|ab|ne|n|pas|plus|jamais|sans|sin|nunca)$|^(refus|abbestell|abmeld|unsub|desab|desins|block|black)/;

/** Words about someone who left, or wants to be left alone. */
const LEAVING =
  /^(remov|delet|inacti|inakti|left|leav|quit|cancel|withdr|revok|object|refus|declin|widerr|widerspr|austritt|ausgetreten|gekundigt|kundig|gestrichen|entfern|geloscht|raus$|retir|sorti|parti|oppos|radi[eé]|borra|elimin|renunci|opon|opos)/;
/** Words that may deny, or may be part of another name, such as "House no". */
const SHORT_DENIALS = /^(no|not|non|un|out|ab|ne|n|pas|plus|sin)$/;

/** Parts of names that suggest consent… */
const SUGGESTS = new RegExp(
  [
    'unsub|optout|optedout|optin|optedin|blacklist|blocklist|listenoire|listanegra|excluid|^dn[cem]$|bounce|donotemail|donotcontact|donotmail|dontemail|nomail|noemail',
    'bulkemail|suppress|subscri|deactivat|deaktiv|onhold|consent|permission|newsletter|spam|complain|gdpr|marketing',
    'emailable|emailerror|commun\\w*preference|sperr|werbung|zugestimm|einverstand|datenschutz|robinson|doi$|npai|undeliver',
    'keine?e?mail|keinemassenmail|nichtkontakt|pasde?e?mail|pasdecourriel|noenviar|nocontact|noquiere|nodesea',
    'mail(ok|okay|allow|permi|erlaub|erwunscht|gewunscht|wanted|autori)|(kontakt|contact)(ok|okay|allow|erlaub|permi|autori)',
    'abmeld|abgemeld|abbestell|abonn|einwillig|widerspruch|widerruf|dsgvo|desabon|desinscri|infolettre|rgpd|baja$|suscri|boletin',
  ].join('|'),
);
/** …unless they are about other channels,… */
const CHANNELS = /^(?!.*(mail|newsletter)).*(sms|phone|mobile|telef|call(?!y)|fax|whatsapp|push)/;
/** …or describe when, how or why. */
const DETAILS = /campaign|reason|source|^subscribed(at|on)$/;
/** The last word of such a name. */
const DETAIL = /^(.*?)(time|date|ip|text|count|title|id|tags?|name)$/;
/** Only those who refused have such details. */
const REFUSALS =
  /unsub|optout|optedout|bounce|complain|blacklist|blocklist|suppress|abmeld|abgemeld|abbestell|desabon|desinscri|baja/;

function nameOf(column: string): string {
  return folded(withoutAnswers(column).replace(KIND, '')).replaceAll(' ', '');
}

/**
 * What each column becomes, by its name and its values. If two columns mean the same field, the first is chosen.
 *
 * @param values some of each column.
 */
export function recognize(
  columns: readonly string[],
  values: readonly (readonly string[] | undefined)[],
  fields: readonly FieldDefinition[] = [],
  hasSignatures = false,
): (Meaning | null)[] {
  const taken = new Set<Meaning>();
  const meant = hasSignatures
    ? meaningsOfSignatures(columns, values)
    : columns.map((column) => meaningOf(nameOf(column)));
  return columns.map((column, n) => {
    const name = nameOf(column);
    let meaning: Meaning | undefined = meant[n];
    const cells = (values[n] ?? []).filter((cell) => cell.trim() !== '');
    if (meaning === 'name' && (meant.includes('firstName') || meant.includes('lastName'))) {
      const missing = (['firstName', 'lastName'] as const).filter((one) => !meant.includes(one));
      if (!SHORT_NAMES.includes(name) || missing.length === 0) return null;
      [meaning] = missing;
    }
    if (meaning === undefined && OPTED_OUT_OF.test(name)) return 'optOut';
    if (meaning === undefined && asksForConsent(column, cells)) return 'subscribed';
    if (meaning === undefined && statesRefusal(column, cells, columns)) return 'optOut';
    // A further number, such as that of a mobile phone.
    if (meaning === undefined && values[phoneKindOf(columns, n) ?? -1]?.some(isMobile)) meaning = 'mobile';
    const custom = fieldNamed(column, fields);
    // A column that states consent never becomes anything else.
    // A note such as "No emails, please" counts in its row.
    const others = cells.filter((cell) => !isRefusalNote(cell));
    const mayState = !meant.some((one) => isConsent(one ?? null)) && suggestsOptOut(column, others, columns);
    if (custom && !mayState && !isConsent(meaning ?? null) && !isOfSignature(meaning ?? null))
      meaning = custom;
    if (meaning === 'status') return meaning;
    if (AMBIGUOUS.includes(name)) {
      const isRegion = meaning === 'region';
      if (cells.some(isOptOutWord) || statusRefuses(name, cells)) meaning = undefined;
      if (areStatusCodes(cells)) return null;
      // NO and ON are abbreviations of states: the user decides.
      const mayBeRegion = isRegion && cells.every((cell) => CODE.test(cell));
      if (cells.length > 0 && cells.every(isConsentWord) && !mayBeRegion) return 'subscribed';
    }
    if (meaning === undefined) return null;
    if (meaning === 'subscribed' && cells.length > 0 && !cells.some((cell) => consentIn('subscribed', cell)))
      return null;
    if (!isOfOneColumn(meaning)) return meaning;
    if (taken.has(meaning)) return null;
    taken.add(meaning);
    return meaning;
  });
}

/** An abbreviation, such as that of a state, a country or a language. */
const CODE = /^\s*[A-Z]{2,3}\s*$/;

/** Whether the cells are abbreviations of which few could also be answers, such as NO for Norway. */
function areCodes(given: readonly string[]): boolean {
  const codes = [...new Set(given.map((cell) => cell.trim()))];
  const answers = codes.filter((code) => /^(YES|NO|JA|OUI|NON|SI)$/.test(code));
  return codes.every((code) => CODE.test(code)) && 2 * answers.length < codes.length;
}

/** Whether the cells are codes of one character, such as A and U or 1 and 2. Each system has its own. */
function areStatusCodes(given: readonly string[]): boolean {
  const areAnswers =
    given.every((cell) => /^\s*[ynjtf]\s*$/i.test(cell)) ||
    given.every((cell) => /^\s*[01x]\s*$/i.test(cell));
  return given.length > 0 && !areAnswers && given.every((cell) => /^\s*(\p{L}|-?\d)\s*$/u.test(cell));
}

/** Whether a column such as `status` or `state` contains a "no". */
function statusRefuses(name: string, cells: readonly string[]): boolean {
  return AMBIGUOUS.includes(name) && cells.some(mayRefuse) && !areCodes(cells);
}

/** Whether the column states with yes or no whether someone wants email. */
function asksForConsent(column: string, cells: readonly string[]): boolean {
  if (cells.length === 0 || !cells.every(isConsentWord)) return false;
  if (questionIn(column) === 'subscribed') return true;
  const asked = folded(column).split(' ');
  const isAsked = asked.some((word) => WANTS.test(word)) && asked.some((word) => OF_EMAIL.test(word));
  return isAsked && !asked.some((word) => DENIES.test(word));
}

/** Whether the name means a refusal, and the values say whether or when: "Kein Newsletter: x". */
function statesRefusal(column: string, cells: readonly string[], columns: readonly string[]): boolean {
  if (questionIn(column) !== 'optOut' || isSomethingElse(column, columns)) return false;
  return cells.length > 0 && cells.every((cell) => isConsentWord(cell) || DATE.test(cell));
}

/** Also one whose day and month may be exchanged. */
const DATE = /^\s*\d{1,4}[-/.] ?\d{1,2}[-/.] ?\d{1,4}/;

function meaningsOfSignatures(
  columns: readonly string[],
  values: readonly (readonly string[] | undefined)[],
): (FixedMeaning | undefined)[] {
  const isNamed = (column: string, names: readonly string[]) => names.includes(nameOf(column));
  const isDated = columns.some((column) => isNamed(column, NAMES_OF_SIGNATURES.signedAt));
  return columns.map((column, n) => {
    const ofSignature = SIGNATURE_COLUMNS.find((one) => isNamed(column, NAMES_OF_SIGNATURES[one]));
    if (ofSignature) return ofSignature;
    if (!isDated && isNamed(column, SIGNED_AT)) return 'signedAt';
    const cells = (values[n] ?? []).filter((cell) => cell.trim() !== '');
    if (isNamed(column, AMBIGUOUS) && cells.length > 0 && cells.every(isSignatureStatus)) return 'status';
    return meaningOf(nameOf(column));
  });
}

function meaningOf(name: string): ContactMeaning | undefined {
  return MEANINGS.find((one) => NAMES[one].includes(name));
}

/** Whether this is a usual name of the column of email addresses, which every header has. */
export function isEmailName(column: string): boolean {
  return NAMES.email.includes(nameOf(column));
}

/**
 * The column that states the kind of phone number in this one, as in exports of Google Contacts; undefined if
 * there is none.
 */
export function phoneKindOf(columns: readonly string[], at: number): number | undefined {
  const [, number] = /^phone(\d+)value$/.exec(nameOf(columns[at]!)) ?? [];
  if (number === undefined) return undefined;
  const kinds = [`phone${number}label`, `phone${number}type`];
  const found = columns.findIndex((column) => kinds.includes(nameOf(column)));
  return found === -1 ? undefined : found;
}

/** Whether a kind of phone number means a mobile phone. */
export function isMobile(kind: string): boolean {
  return NAMES.mobile.includes(nameOf(kind));
}

/** The systems whose exports have a column with this name for their ids. */
const SYSTEMS: { [name: string]: string } = {
  nationbuilderid: 'nationbuilder',
  civicrmid: 'civicrm',
  internalcontactid: 'civicrm',
  internekontaktid: 'civicrm',
  vanid: 'everyaction',
  voterfilevanid: 'van',
  euid: 'mailchimp',
  // Other systems do not name themselves.
  externalidentifier: 'external',
  externalid: 'external',
  externeid: 'external',
  externekennung: 'external',
  idexterne: 'external',
  identifiantexterne: 'external',
  idexterno: 'external',
  identificadorexterno: 'external',
};

/**
 * The external ids in a cell: with their system, which the name of the column may state. Only our own exports have several
 * in a cell, each with its system.
 */
export function externalIdsIn(column: string, cell: string): string[] {
  const system = SYSTEMS[nameOf(column)];
  const ids = cell.split(/[\s,;|]+/).filter((id) => id !== '');
  const isStated = system === undefined || ids.length > 1;
  return ids.map((id) => (isStated || id.includes(':') ? id : `${system}:${id}`));
}

/** The meaning of a column with values of the custom field with this key. */
export function customMeaning(key: string): Meaning {
  return `${CUSTOM}${key}`;
}

/** By key, or by name without regard to case and accents. Fields that all contacts have come first. */
function fieldNamed(column: string, fields: readonly FieldDefinition[]): Meaning | undefined {
  const name = nameOf(column);
  if (MEANINGS.some((meaning) => meaning.toLowerCase() === name)) return undefined;
  const field =
    fields.find(({ key }) => key === column) ??
    fields.find((one) => nameOf(one.name) === name && name !== '');
  return field && `${CUSTOM}${field.key}`;
}

/** The custom field of a column; undefined if it has another meaning, or if the field was deleted. */
export function customFieldOf(
  meaning: string | null,
  fields: readonly FieldDefinition[],
): FieldDefinition | undefined {
  return meaning?.startsWith(CUSTOM)
    ? fields.find(({ key }) => key === meaning.slice(CUSTOM.length))
    : undefined;
}

/**
 * Whether ignoring this column may lose a "no": by its name, or because a cell contains "unsubscribed".
 *
 * @param columns all columns of the table.
 */
export function suggestsOptOut(
  column: string,
  cells: readonly string[],
  columns: readonly string[] = [],
): boolean {
  if (isSomethingElse(column, columns)) return false;
  const name = nameOf(column);
  if (SUGGESTS.test(name) || /^(abo|sub|opt)(status)?$/.test(name)) return true;
  // A column of consent whose values are unknown.
  if (isConsent(meaningOf(name) ?? null)) return true;
  const given = cells.filter((cell) => cell.trim() !== '');
  const isOpen = AMBIGUOUS.includes(name);
  if (isOpen && (given.some(isSubscription) || (areStatusCodes(given) && !stateConsent(columns))))
    return true;
  if (statusRefuses(name, given)) return true;
  // Whatever the question, those who answered it with no may not want email.
  if (isOfWishes(column) && given.length > 0 && (given.every(isAnswer) || refuses(given))) return true;
  return mayDeny(folded(column).split(' '), given) || cells.some(isOptOutWord);
}

/** Whether the name asks if someone wants something, or is about email. */
function isOfWishes(column: string): boolean {
  const isWish = (word: string) =>
    (word !== 'e' && OF_EMAIL.test(word)) || WANTS.test(word) || MAY_BE_OF_EMAIL.test(word);
  return folded(column).split(' ').some(isWish);
}

/** Whether one of the answers is a "no", even if others are unclear. */
function refuses(given: readonly string[]): boolean {
  // Zero is a "no" unless other cells show that the column counts something.
  const isCount = given.some((cell) => /^\s*\d/.test(cell) && !isConsentWord(cell));
  return given.some((cell) => mayRefuse(cell) || (!isCount && /^\s*0\s*$/.test(cell)));
}

/**
 * Whether the cell of a column that is not imported may say that this person gets no email.
 *
 * @param isStated whether another column states who gets email.
 */
export function refusesIn(column: string, cell: string, isStated: boolean): boolean {
  if (isOptOutWord(cell)) return true;
  if (isNo(cell)) return !isStated ? !CODE.test(cell) || isAboutEmail(column) : isAboutEmail(column);
  return isAboutEmail(column) && mayRefuse(cell);
}

function isAboutEmail(column: string): boolean {
  return isOfWishes(column) || AMBIGUOUS.includes(nameOf(column));
}

/** Whether those with an entry may have refused: "Keine Post: x", "Remove from list: yes", "Left us on: 2024-05-01". */
function mayDeny(asked: readonly string[], given: readonly string[]): boolean {
  const denials = asked.filter((word) => DENIES.test(word) || LEAVING.test(word));
  if (denials.length === 0 || !given.every((cell) => isConsentWord(cell) || momentIn(cell) !== undefined))
    return false;
  const isClear = denials.some((word) => !SHORT_DENIALS.test(word));
  return isClear || (given.length > 0 && asked.length > 1);
}

/**
 * Whether the column answers an unknown question with no, or only with yes and no. If no column states who gets email, this may be the one.
 *
 * @param cells some of the column.
 */
export function isUnknownAnswer(
  column: string,
  cells: readonly string[],
  columns: readonly string[],
): boolean {
  const given = cells.filter((cell) => cell.trim() !== '');
  if (isSomethingElse(column, columns)) return false;
  return given.length > 0 && (given.every(isConsentWord) || mayLoseNo(given));
}

/** Whether the cells contain a "no", and are not abbreviations or counts. */
function mayLoseNo(given: readonly string[]): boolean {
  if (areCodes(given)) return false;
  return given.some(isNo) || (given.every(isConsentWord) && refuses(given));
}

/**
 * Whether leaving out the column loses a "no" to an unknown question, and no column states who gets email.
 *
 * @param meanings of all columns.
 */
export function losesAnswer(
  column: string,
  cells: readonly string[],
  columns: readonly string[],
  meanings: readonly (string | null)[],
): boolean {
  if (meanings.some(isConsent) || isSomethingElse(column, columns)) return false;
  return mayLoseNo(cells.filter((cell) => cell.trim() !== ''));
}

/**
 * Names that mean something else if another column states who gets email: in exports of Substack, a subscription is paid. In those of
 * CiviCRM, "Do Not Mail" is about letters, and a double opt-in of Brevo is how someone consented. Ghost keeps the time of a
 * deletion. Mailchimp's time zones have an offset of 0 or 1 hours. In Outlook, a contact can be private.
 */
const SETTLED: [name: RegExp, by: RegExp][] = [
  [/^subscription(type|plan|interval)$/, /^/],
  [/^activesubscription$/, /^emaildisabled$/],
  [/^(gmt|dst)off$/, /^timezone$/],
  [/^donotmail$/, /^donotemail$/],
  [/^doubleoptin$/, /^emailblacklisted$/],
  [/^deletedat$/, /^subscribedtoemails$/],
  [
    /^(private?|prive|privado)$/,
    /^(sensitivity|vertraulichkeit|criteredediffusion|sensibilidad|confidencialidad)$/,
  ],
];

/** Details of a refusal, such as its reason, are something else only if another column states who refused. */
function isSomethingElse(column: string, columns: readonly string[]): boolean {
  const name = nameOf(column);
  if (CHANNELS.test(name) || isSettled(name, columns)) return true;
  const isStated = stateConsent(columns) || columns.some((other) => AMBIGUOUS.includes(nameOf(other)));
  return isDetail(column) && (!REFUSALS.test(name) || isStated);
}

function stateConsent(columns: readonly string[]): boolean {
  return columns.some((column) => isConsent(meaningOf(nameOf(column)) ?? null));
}

/** A last word such as "id" counts alone or after one about consent, as in `optInId`: "valid" is another word. */
function isDetail(column: string): boolean {
  if (DETAILS.test(nameOf(column))) return true;
  const [, rest] = DETAIL.exec(folded(column).split(' ').at(-1)!) ?? [];
  return rest !== undefined && (rest === '' || SUGGESTS.test(rest)) && !nameOf(column).includes('unsub');
}

function isSettled(name: string, columns: readonly string[]): boolean {
  return SETTLED.some(([one, by]) => one.test(name) && columns.some((other) => by.test(nameOf(other))));
}
