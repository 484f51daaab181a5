import { formatNumber } from '#libs/pages';
import { type OwnReason } from '#libs/rpc';
import { type common as en } from '../../en/dashboard/common.js';

export const common: typeof en = {
  locale: 'de',
  dates: 'de-DE',
  name: 'Dashboard',
  skip: 'Zum Hauptinhalt springen',
  navigation: 'Dashboard',
  menu: 'Menü',
  back: 'Zurück',
  cancel: 'Zurück',
  signOut: 'Abmelden',
  account: 'Ihr Konto',
  groups: {
    campaigns: 'Kampagnen',
    people: 'Menschen',
    email: 'E-Mail',
    settings: 'Einstellungen',
  },
  sections: {
    overview: 'Startseite',
    search: 'Suche',
    petitions: 'Petitionen',
    forms: 'Anmeldeformulare',
    contacts: 'Kontakte',
    lists: 'Listen',
    tags: 'Tags',
    customFields: 'Eigene Felder',
    segments: 'Segmente',
    broadcasts: 'E-Mails',
    suppressions: 'Gesperrte Adressen',
    posts: 'Beiträge',
    images: 'Bilder',
    team: 'Team',
    organization: 'Organisation',
    keys: 'API-Schlüssel',
    publishableKeys: 'Website-Schlüssel',
    webhooks: 'Webhooks',
    outbox: 'Postausgang',
    history: 'Verlauf',
    systemStatus: 'Systemstatus',
  },
  email: 'E-Mail-Adresse',
  role: 'Rolle',
  since: 'Hinzugefügt',
  until: 'Läuft ab',
  made: 'Angelegt',
  changed: 'Zuletzt geändert',
  state: 'Status',
  nameOf: 'Name',
  optional: 'optional',
  save: 'Speichern',
  yes: 'Ja',
  no: 'Nein',
  search: 'Suchen',
  searching: {
    title: 'Suche',
    text: 'Finden Sie Kontakte, Petitionen, E-Mails, Beiträge, Anmeldeformulare, Segmente und Seiten nach ihrem Namen.',
    all: (section: string) => `Alle Ergebnisse: ${section}`,
  },
  all: 'Alle',
  more: 'Mehr',
  filters: 'Filter',
  nothingFound: 'Versuchen Sie es mit weniger oder anderen Wörtern.',
  showAll: 'Alle anzeigen',
  removeFilter: (filter) => `Filter „${filter}“ entfernen`,
  found: 'Suchergebnisse',
  foundNone: 'Nichts gefunden',
  foundSome: (many) => `${many} gefunden`,
  foundMore: (many) => `Mehr als ${many} gefunden`,
  exportList: 'Als CSV herunterladen',
  pages: 'Seiten',
  firstPage: 'Erste Seite',
  quoted: (text) => `„${text}“`,
  further: 'Fortsetzung',
  nextPage: 'Nächste Seite',
  copy: 'Kopieren',
  copied: 'Kopiert',
  drafts: { restored: 'Ihre nicht gespeicherten Änderungen wurden wiederhergestellt.', discard: 'Verwerfen' },
  away: 'Der Server antwortet nicht. Diese Seite ist möglicherweise veraltet.',
  styleGuide: {
    title: 'Styleguide',
    text: 'Alle Bausteine des Dashboards, dargestellt mit demselben Code wie auf seinen Seiten. Die Formulare hier lassen sich nicht absenden.',
  },
  asTable: 'Als Tabelle anzeigen',
  ofAll: (some, all) => `${some} von ${all}`,
  plotSummary: (plot) =>
    `${plot.title}, ${plot.from} bis ${plot.to}. Gesamt: ${plot.total}. Höchstwert: ${plot.most} (${plot.highest}).`,
  lineSummary: (line) =>
    `${line.title}, ${line.from} bis ${line.to}. Steigt von ${line.start} auf ${line.end}. Ziel: ${line.goal}.`,
  goalOf: (goal) => `Ziel: ${goal}`,
  live: {
    going: 'Aktualisiert sich automatisch.',
    held: 'Aktualisierung angehalten.',
    hold: 'Anhalten',
    goOn: 'Aktualisierung fortsetzen',
  },
  roles: {
    OWNER: { name: 'Inhaber·in', may: 'Voller Zugriff, einschließlich der Verwaltung von Inhaber·innen' },
    ADMIN: { name: 'Administrator·in', may: 'Voller Zugriff, außer auf die Verwaltung von Inhaber·innen' },
    EDITOR: {
      name: 'Redaktion',
      may: 'Kann Kontakte, Petitionen, Beiträge, Listen, Bilder und E-Mails bearbeiten',
    },
    VIEWER: { name: 'Leser·in', may: 'Kann alles ansehen, was die Redaktion bearbeiten kann' },
    AUDITOR: { name: 'Prüfer·in', may: 'Kann den Verlauf prüfen' },
  },
  faults: {
    required: 'Pflichtfeld',
    tooLong: (most: string) => `Höchstens ${most} Zeichen`,
    email: 'Geben Sie eine E-Mail-Adresse ein, zum Beispiel name@example.org',
    webAddress: 'Geben Sie eine Adresse ein, die mit https:// beginnt',
    publicAddress: 'Geben Sie eine öffentliche Internetadresse ein, die mit https:// beginnt',
    asciiAddress: 'Vor dem @ sind Umlaute und Akzente nicht möglich',
    slug: 'Verwenden Sie Kleinbuchstaben und Ziffern, Bindestriche nur dazwischen',
    ownSlug: 'Diese Adresse verwendet der Server selbst. Wählen Sie eine andere',
    looksLikeId: 'Verwenden Sie Wörter. Das sieht wie eine ID aus',
    colour: 'Geben Sie eine Farbe ein, zum Beispiel #0b57d0',
    wholeNumber: (least: string, most: string) => `Geben Sie eine ganze Zahl von ${least} bis ${most} ein`,
    choice: 'Wählen Sie eine Option aus',
    order: 'Der zweite Wert darf nicht unter dem ersten liegen',
    some: 'Wählen Sie mindestens eine Option aus',
    fewer: (most: string) => `Wählen Sie höchstens ${most} Optionen aus`,
    noFile: 'Wählen Sie eine Datei aus',
    laterFile: 'Es laufen zu viele Importe. Versuchen Sie es noch einmal, wenn einige fertig sind',
    noPicture: 'Dieses Bildformat wird nicht unterstützt. Wählen Sie JPEG, PNG, WebP, AVIF oder GIF',
    brokenPicture: 'Dieses Bild ist beschädigt oder hat zu viele Pixel',
    largePicture: 'Dieses Bild ist zu groß. Wählen Sie eines mit höchstens 15 MB',
    time: 'Geben Sie Datum und Uhrzeit ein',
    future: 'Wählen Sie einen Zeitpunkt in der Zukunft',
    sameColumn: 'Diesem Feld ist schon eine andere Spalte zugeordnet',
    noAddresses: 'Ordnen Sie eine Spalte der E-Mail-Adresse zu',
    yesOrNo: 'Geben Sie ja oder nein ein',
    tooMany: (most: string) => `Höchstens ${most} Namen`,
    names: 'Geben Sie kurze Namen mit jeweils höchstens 200 Zeichen ein',
    excelFile:
      'Das ist eine Excel-Datei. Öffnen Sie sie, wählen Sie „Speichern unter“ und „CSV UTF-8“ und laden Sie diese Datei hoch',
    noHeader: 'Die erste Zeile muss die Spaltennamen enthalten, enthält aber eine E-Mail-Adresse',
    noFirstRow: 'Die erste Zeile ist nicht lesbar. Sie muss die Spaltennamen enthalten',
    noStatus: 'Geben Sie ja, nein oder einen Status wie abonniert, abgemeldet oder unzustellbar ein',
    unclearTime: 'Geben Sie ein eindeutiges Datum ein, zum Beispiel 2024-05-31 oder 31.05.2024 14:30',
    pastTime: 'Der Zeitpunkt darf nicht in der Zukunft liegen',
    earlyTime: 'Der Zeitpunkt darf nicht vor 1970 liegen',
    unconfirmed: 'Nur bestätigte Unterschriften werden importiert',
    ipAddress: 'Geben Sie eine IP-Adresse ein, zum Beispiel 203.0.113.7',
    optOutColumn:
      'Diese Spalte nennt vielleicht Personen, die keine E-Mails bekommen dürfen. Wählen Sie ihre Bedeutung',
    noTable: 'Diese Datei ist keine Tabelle. Speichern Sie sie als CSV',
    tooWide: 'Diese Tabelle hat mehr als 200 Spalten. Entfernen Sie die, die Sie nicht brauchen',
    noLines: 'Unter den Spaltennamen stehen keine Zeilen',
    externalIds: 'Geben Sie IDs wie civicrm:123 ein, eine pro Zeile',
    externalIdTaken: 'Ein anderer Kontakt hat eine dieser IDs',
    number: 'Geben Sie eine Zahl ein, zum Beispiel 42 oder 1,5',
    date: 'Geben Sie ein Datum ein',
    tooMuch: (most: string) =>
      `Die eigenen Felder eines Kontakts dürfen zusammen höchstens ${most} KB groß sein. Kürzen Sie einige`,
    noOptions: 'Geben Sie mindestens eine Option ein',
    notOptions: 'Entfernen Sie die Optionen oder wählen Sie als Art „Eine Option“ oder „Mehrere Optionen“',
    atLeast: (least: string) => `Geben Sie eine ganze Zahl ab ${least} ein`,
    range: 'Geben Sie eine IP-Adresse wie 192.0.2.7 oder ein Netzwerk wie 192.0.2.0/24 ein',
    noSubject: 'Geben Sie einen Betreff ein',
    noText: 'Geben Sie eine Nachricht ein',
    noSender: 'Ihre Organisation hat noch keine Absenderadresse. Tragen Sie sie unter „Organisation“ ein',
    noPostalAddress:
      'Ihre Organisation hat noch keine Postanschrift. Tragen Sie sie unter „Organisation“ ein',
    nobody: 'Niemand würde diese E-Mail bekommen. Unter „Empfänger“ sehen Sie, warum',
    mergeField: (fields: string, known: string) => `Unbekanntes Feld: ${fields}. Verfügbare Felder: ${known}`,
    templateUnclosed: (what: string, line: string) =>
      `„${what}“ in Zeile ${line} ist nicht geschlossen. Prüfen Sie die Klammern {{ … }} und {% … %}`,
    templateTag: (tag: string, line: string) =>
      `{% ${tag} %} in Zeile ${line} gibt es nicht, oder der öffnende Teil fehlt`,
    templateFilter: (filter: string, line: string) =>
      `Den Filter „| ${filter}“ in Zeile ${line} gibt es nicht`,
    templateTooLong: 'Diese E-Mail zu erstellen dauert zu lange. Verwenden Sie weniger {% for … %}-Schleifen',
    templateTooMuch: (most: number) =>
      `Die Nachricht hat mehr als ${formatNumber('de-DE', most)} Felder oder Formatierungen einer Art. Kürzen Sie sie`,
    templateLine: (line: string) => `Der Ausdruck in Klammern in Zeile ${line} ist ungültig`,
    template: 'Der Ausdruck in Klammern ist ungültig',
    noRecord: 'Es gibt keine Liste, kein Tag, keine Petition und keine E-Mail mit diesem Namen',
    sealed: 'Dieses Feld ist verschlüsselt. Dafür gibt es nur „ist ausgefüllt“ und „ist nicht ausgefüllt“',
    noContact: 'Kein Kontakt hat diese Adresse. Legen Sie den Kontakt zuerst an',
    other: (why: string) => `Ungültige Eingabe (${why})`,

    title: 'Bitte prüfen Sie Ihre Eingaben',
    prefix: 'Fehler: ',
  },
  reasons: {
    MERGED: 'Dieser Kontakt wurde mit einem anderen zusammengeführt.',
    EMAIL_TAKEN: 'Ein anderer Kontakt hat diese E-Mail-Adresse.',
    PETITION_NOT_PUBLISHED: 'Diese Petition ist ein Entwurf. Veröffentlichen Sie sie zuerst.',
    NO_PUBLIC_COMMENT: 'Diese Unterschrift hat keinen öffentlichen Kommentar.',
    PETITION_CLOSED: 'Diese Petition ist geschlossen. Öffnen Sie sie zuerst wieder.',
    PETITION_NOT_CLOSED: 'Diese Petition ist nicht geschlossen. Schließen Sie sie zuerst.',
    PETITION_PUBLISHED: 'Diese Petition ist offen. Schließen Sie sie zuerst.',
    POST_PUBLISHED:
      'Dieser Beitrag ist bereits veröffentlicht. Archivieren Sie ihn, um ihn später erneut zu veröffentlichen.',
    POST_NOT_PUBLISHED:
      'Dieser Beitrag ist ein Entwurf. Veröffentlichen Sie ihn zuerst oder löschen Sie ihn.',
    BROADCAST_BEGUN:
      'Das ist beim jetzigen Status der E-Mail nicht möglich. Auf ihrer Seite sehen Sie, was möglich ist.',
    BROADCAST_NOT_SENDING: 'Diese E-Mail wird gerade nicht gesendet.',
    NO_THANK_YOU_MAIL: 'Diese Petition hat noch keine Dankes-E-Mail. Schreiben Sie zuerst eine.',
    BROADCAST_NOT_READY: 'Diese E-Mail kann noch nicht gesendet werden.',
    RECIPIENTS_DELETED:
      'Die Empfängerliste dieser älteren E-Mail wurde gelöscht. Die Zahlen bleiben erhalten.',
    SLUG_TAKEN:
      'Diese Adresse gehört zu einer anderen Seite oder gehörte im letzten Jahr zu einer. Wählen Sie eine andere.',
    KEY_ENDED: 'Dieser Schlüssel wurde widerrufen oder ist abgelaufen. Legen Sie einen neuen an.',
    KEY_ROTATED: 'Dieser Schlüssel wurde bereits ausgetauscht.',
    KEY_LIMIT_REACHED:
      'Ihre Organisation hat die Höchstzahl an API-Schlüsseln erreicht. Widerrufen Sie einen, den Sie nicht mehr brauchen.',
    KEY_EXCEEDS_YOURS:
      'Dieser Schlüssel hat mehr Berechtigungen als Sie. Fragen Sie jemanden, der mindestens so viele hat.',
    ROLE_EXCEEDS_YOURS: 'Diese Rolle hat mehr Berechtigungen als Ihre. Fragen Sie jemanden, der sie hat.',
    IMAGE_SHOWN:
      'Dieses Bild wird noch verwendet. Entfernen Sie es zuerst dort oder löschen Sie es auf seiner Seite überall.',
    ALREADY_MEMBER: 'Diese Person gehört schon zum Team.',
    INVITATION_ACCEPTED:
      'Die Einladung wurde bereits angenommen. Entfernen Sie die Person stattdessen aus dem Team.',
    LAST_OWNER:
      'Jede Organisation braucht mindestens eine Inhaberin oder einen Inhaber. Geben Sie zuerst einer anderen Person diese Rolle.',
    WEBHOOK_LIMIT_REACHED:
      'Ihre Organisation hat die Höchstzahl an Webhooks erreicht. Löschen Sie einen, den Sie nicht mehr brauchen.',
    EXTERNAL_ID_TAKEN: 'Ein anderer Kontakt hat diese externe ID. Entfernen Sie sie zuerst dort.',
    IMPORT_UNFINISHED: 'Dieser Import läuft noch. Brechen Sie ihn zuerst ab.',
    UNDO_EXPIRED:
      'Dieser Import ist seit mehr als 24 Stunden abgeschlossen und lässt sich nicht mehr rückgängig machen.',
    FIELD_LIMIT_REACHED:
      'Ihre Organisation hat die Höchstzahl an eigenen Feldern erreicht. Löschen Sie eines, das Sie nicht mehr brauchen.',
    OPTION_IN_USE:
      'Bei manchen Kontakten ist eine Option ausgewählt, die Sie entfernt haben. Ändern Sie zuerst diese Kontakte.',
    TOO_MANY_OFFLINE_COUNTS:
      'Diese Petition hat die Höchstzahl an Einträgen für Unterschriften auf Papier erreicht.',
    NOT_SEALED:
      'Der Verlauf stimmt nicht mit dem überein, was früher signiert wurde. Wenden Sie sich an den Betreiber dieses Dienstes.',
  } satisfies Record<OwnReason, string>,
  past: {
    title: 'Aktivität',
    changed: (what, fields) => `${what}: ${fields}`,
    all: 'Ganzen Verlauf anzeigen',
    more: 'Es gibt ältere Einträge.',
    older: 'Ältere Einträge anzeigen',
    newest: 'Zurück zu den neuesten Einträgen',
    actors: {
      user: 'ein früheres Teammitglied',
      'api-key': 'ein API-Schlüssel',
      system: 'das System',
      public: 'jemand auf der öffentlichen Seite',
    },
  },
  signIn: {
    title: 'Anmelden',
    text: 'Wir schicken Ihnen einen Anmeldelink per E-Mail. Ein Passwort brauchen Sie nicht.',
    written:
      'Sie melden sich mit einem Link statt mit einem Passwort an. Dieser Server ist mit keinem Mailserver verbunden und schreibt den Link deshalb in eine Datei.',
    hint: 'Die Adresse, mit der Sie eingeladen wurden.',
    button: 'Anmeldelink anfordern',
  },
  sent: {
    again: 'Falsche Adresse? Andere Adresse eingeben',
    title: 'Prüfen Sie Ihren Posteingang',
    text: (minutes) =>
      `Wenn Sie mit dieser Adresse eingeladen wurden, ist ein Anmeldelink unterwegs. Er gilt ${minutes} Minuten.`,
    hint: 'Nach ein paar Minuten noch nichts da? Sehen Sie im Spam-Ordner nach oder fragen Sie die Person, die Sie eingeladen hat.',
  },
  written: {
    title: 'Dieser Server verschickt keine E-Mails',
    text: (minutes) =>
      `Er schreibt E-Mails in den Ordner „mail“ seines Datenverzeichnisses (DATA_DIR). Wenn Sie mit dieser Adresse eingeladen wurden, liegt dort gleich eine E-Mail mit einem Anmeldelink. Er gilt ${minutes} Minuten.`,
    elsewhere: 'Fragen Sie die Person, die diesen Server betreibt, nach dem Link.',
    folder: (folder) =>
      `Sie sind auf dem Server selbst. Der Ordner ist ${folder}. Öffnen Sie dort oder in einem Unterordner die neueste .eml-Datei mit einem E-Mail-Programm und folgen Sie dem Link.`,
    command:
      'Oder lassen Sie sich einen Anmeldelink ausgeben, mit der ID Ihrer Organisation und Ihrer E-Mail-Adresse:',
  },
  enter: {
    title: 'Anmelden',
    text: 'Nur noch ein Schritt. Der Link funktioniert nur einmal.',
    button: 'Anmelden',
  },
  invitation: {
    title: (organization) => `Sie wurden zur Mitarbeit bei ${organization} eingeladen`,
    text: (role) => `Ihre Rolle: ${role}.`,
    button: 'Einladung annehmen',
  },
  organizations: { title: 'Ihre Organisationen', text: 'In welcher Organisation möchten Sie arbeiten?' },
  nowhere: {
    title: 'Sie gehören zu keiner Organisation',
    text: 'Bitten Sie ein Mitglied der Organisation um eine Einladung. Öffnen Sie dann den Link in der E-Mail.',
  },
  insecure: {
    title: 'Diese Verbindung ist nicht sicher',
    text: 'Sie können sich nur über HTTPS anmelden. Öffnen Sie diese Seite mit einer Adresse, die mit https:// beginnt.',
  },
  sessions: {
    who: (name) => `Sie sind als ${name} angemeldet.`,
    title: 'Wo Sie angemeldet sind',
    text: 'Melden Sie Browser ab, die Sie nicht kennen.',
    this: 'dieser Browser',
    seen: (date) => `zuletzt aktiv am ${date}`,
    end: (browser) => `${browser} abmelden`,
  },
  done: {
    again:
      'Sie wurden abgemeldet, weil Ihre Sitzung abgelaufen ist oder Ihre Rolle geändert wurde. Bitte melden Sie sich wieder an.',
    sessionEnded: 'Der Browser wurde abgemeldet.',
    signedOut: 'Sie haben sich abgemeldet.',
  },
  passkeys: {
    title: 'Passkeys',
    text: 'Mit einem Passkey melden Sie sich per Fingerabdruck, Gesicht oder PIN Ihres Geräts an, ganz ohne E-Mail.',
    none: 'Sie haben noch keine Passkeys.',
    add: 'Passkey hinzufügen',
    made: (date) => `hinzugefügt am ${date}`,
    used: (date) => `zuletzt verwendet am ${date}`,
    remove: 'Entfernen',
    removeOf: (name) => `Passkey für ${name} entfernen`,
    removing:
      'Sie können sich dann nicht mehr damit anmelden. Ihr Gerät zeigt ihn vielleicht weiter an. Entfernen Sie ihn auch dort.',
    signIn: 'Mit Passkey anmelden',
    or: 'Oder mit einem Passkey',
    refusedTitle: 'Passkey nicht akzeptiert',
    refused:
      'Laden Sie die Anmeldeseite neu und versuchen Sie es noch einmal oder lassen Sie sich einen Anmeldelink per E-Mail schicken.',
    failed:
      'Ihr Gerät hat den Vorgang nicht abgeschlossen. Versuchen Sie es noch einmal oder nutzen Sie einen Anmeldelink.',
    done: {
      added: 'Passkey hinzugefügt. Sie können sich jetzt damit anmelden.',
      removed: 'Passkey entfernt.',
    },
  },
  changedMeanwhile:
    'Jemand anderes hat das geändert, während Sie daran gearbeitet haben. Sehen Sie sich die Änderungen in einem anderen Fenster an. Wenn Sie noch einmal speichern, ersetzt Ihre Fassung die andere.',
  signedOut: {
    title: 'Sie sind abgemeldet',
    text: 'Es wurde nichts geändert, und Ihre Eingaben sind nicht verloren. Melden Sie sich über den Link unten an. Laden Sie dann diese Seite neu und lassen Sie Ihren Browser das Formular noch einmal senden.',
    link: 'Anmelden (öffnet ein neues Fenster)',
  },
  badLink: {
    title: 'Dieser Link funktioniert nicht',
    text: 'Er wurde schon verwendet oder ist abgelaufen. Fordern Sie einen neuen an.',
  },
  notFound: {
    title: 'Seite nicht gefunden',
    text: 'Vielleicht ist die Adresse falsch geschrieben, oder die Seite wurde gelöscht.',
  },
  badAddress: {
    title: 'Diese Adresse ist ungültig',
    text: 'Gehen Sie zurück und versuchen Sie es von dort noch einmal.',
  },
  forbidden: {
    title: 'Ihre Rolle erlaubt das nicht',
    text: 'Fragen Sie jemanden mit der Rolle „Inhaber·in“ oder „Administrator·in“.',
  },
  foreignForm: {
    title: 'Dieses Formular kam nicht von dieser Website',
    text: 'Es wurde nichts geändert. Gehen Sie zurück, laden Sie die Seite neu und versuchen Sie es noch einmal.',
  },
  tooLarge: {
    title: 'Zu viele Daten',
    text: 'Es wurde nichts geändert. Gehen Sie zurück und senden Sie weniger.',
  },
  tooMany: {
    title: 'Zu viele Anfragen',
    text: 'Warten Sie einen Moment und versuchen Sie es noch einmal.',
  },
  unavailable: {
    title: 'Diese Seite ist vorübergehend nicht erreichbar',
    text: 'Versuchen Sie es gleich noch einmal. Es ist nichts verloren gegangen.',
  },
};
