import { counted, formatNumber } from '#libs/pages';
import { type contacts as en } from '../../en/dashboard/contacts.js';

const UNDO_TEXT =
  'Kontakte, die der Import nur aktualisiert hat, bleiben unverändert. Gelöschte Kontakte lassen sich nicht wiederherstellen.';

export const contacts: typeof en = {
  title: 'Kontakte',
  text: 'Die Menschen, mit denen Ihre Organisation in Kontakt steht.',
  none: {
    title: 'Noch keine Kontakte',
    text: 'Importieren Sie eine Datei oder legen Sie den ersten Kontakt an.',
  },
  search: 'Name oder E-Mail-Adresse',
  add: 'Kontakt anlegen',
  import: 'Kontakte importieren',
  edit: 'Bearbeiten',
  erase: 'Endgültig löschen',
  merge: 'Dublette zusammenführen',
  exportPerson: 'Alle Daten exportieren',
  addTo: 'Zu Liste oder Tag hinzufügen',
  subscribed: 'Abonniert',
  blocked: (why) => `Nein. Die Adresse ist gesperrt (${why})`,
  signed: 'Unterschriebene Petitionen',
  andOthers: 'und weitere',
  consents: {
    title: 'Einwilligung in den Empfang von E-Mails',
    yes: 'Hat in den Empfang von E-Mails eingewilligt',
    no: 'Hat den Empfang von E-Mails abgelehnt',
    source: (source) => `Quelle: ${source}`,
    ip: (address) => `IP-Adresse ${address}`,
    by: (who) => `Erfasst von: ${who}`,
    older: 'Ältere Einträge anzeigen',
  },
  externalIdsHint: 'Eine pro Zeile: Name des Systems, Doppelpunkt und ID, zum Beispiel civicrm:123.',
  filters: {
    subscribed: 'Abonniert',

    petition: 'Unterschriebene Petition',
  },
  adding: {
    title: 'Kontakt anlegen',
    button: 'Kontakt anlegen',
    hint: 'Nur die E-Mail-Adresse ist erforderlich.',
    subscribe: 'Diese Person hat eingewilligt, E-Mails von uns zu erhalten',
  },
  editing: { title: (name) => `${name} bearbeiten`, button: 'Kontakt speichern' },
  erasing: {
    title: (name) => `${name} endgültig löschen?`,
    text: 'Name, Adresse und alle weiteren personenbezogenen Daten werden vernichtet, auch im Verlauf und in dessen Kopien. Die Unterschriften der Person zählen ohne Namen weiter. Das lässt sich nicht rückgängig machen.',
    button: (name) => `${name} endgültig löschen`,
  },
  merging: {
    title: (name) => `Dublette mit ${name} zusammenführen`,
    hint: (name) => `${name} bleibt erhalten. Die Dublette wird gelöscht.`,
    email: 'E-Mail-Adresse der Dublette',
    find: 'Dublette suchen',
    sure: (name, other) => `${other} mit ${name} zusammenführen?`,
    text: 'Listen, Tags, Unterschriften und Einwilligungen der Dublette gehen auf diesen Kontakt über. Ihre Angaben füllen seine leeren Felder; vorhandene Angaben bleiben. Ist einer der beiden abgemeldet, wird der Kontakt abgemeldet. Das lässt sich nicht rückgängig machen.',
    button: 'Kontakte zusammenführen',
  },
  duplicates: {
    title: 'Mögliche Dubletten',
    find: 'Dubletten suchen',
    text: 'Diese Kontakte könnten dieselbe Person sein. Vergleichen Sie jedes Paar, bevor Sie es zusammenführen.',
    none: 'Keine Dubletten gefunden.',
    noneHere: 'Bisher keine Dubletten gefunden. Die nächste Seite setzt die Suche fort.',
    older: 'Kontakt',
    newer: 'Mögliche Dublette',
    shared: 'Gemeinsam',
    reasons: { NAME_AND_ZIP: 'Name und Postleitzahl', PHONE: 'Telefonnummer', EMAIL: 'E-Mail-Postfach' },
    merge: (name) => `Mit ${name} zusammenführen`,
  },
  grouping: {
    title: (name) => `${name} zu einer Liste oder einem Tag hinzufügen`,
    tags: 'Tags',
    tagsHint: 'Mehrere durch Kommas trennen. Fehlende Tags werden angelegt.',
    list: 'Liste',
    button: 'Kontakt hinzufügen',
  },
  fields: {
    email: 'E-Mail-Adresse',
    firstName: 'Vorname',
    lastName: 'Nachname',
    phone: 'Telefon',
    mobile: 'Mobiltelefon',
    address: 'Straße und Hausnummer',
    zip: 'Postleitzahl',
    city: 'Ort',
    region: 'Bundesland oder Region',
    country: 'Land',
    bio: 'Notizen',
    externalIds: 'IDs in anderen Systemen',
  },
  imports: {
    title: 'Kontakte importieren',
    text: 'Laden Sie eine CSV-Datei aus einer Tabellenkalkulation oder einem anderen System hoch. In der ersten Zeile müssen die Spaltennamen stehen. Importiert wird erst, wenn Sie die Spalten geprüft haben.',
    file: 'Ihre Datei',
    fileHint: 'Höchstens 20 MB.',
    conflict: 'Vorhandene Kontakte',
    fail: 'Vorhandene Kontakte überspringen und Abweichungen auflisten',
    update: 'Vorhandene Kontakte aktualisieren',
    list: 'Alle zu einer Liste hinzufügen',
    listHint: 'Mit einer Liste können Sie später allen diesen Kontakten gemeinsam schreiben.',
    listFirst:
      'Mit einer Liste können Sie später allen diesen Kontakten gemeinsam schreiben. Legen Sie dafür zuerst eine an.',
    noList: 'Keine Liste',
    look: 'Spalten prüfen',
    tooLarge: 'Diese Datei ist größer als 20 MB. Teilen Sie sie in kleinere Dateien auf.',
    preview: 'Spalten zuordnen',
    previewText: (file) => `Aus „${file}“. Bisher wurde nichts importiert.`,
    column: 'Spalte',
    example: 'Zum Beispiel',
    noExample: 'Die ersten Zeilen sind leer.',
    ignored: 'Nicht importieren',
    undecided: 'Wählen Sie aus, was diese Spalte bedeutet',
    unrelated: 'Nicht importieren (betrifft nicht die Einwilligung)',
    tags: 'Tags, durch Kommas getrennt',
    lists: 'Listen, durch Kommas getrennt',
    name: 'Ganzer Name, wird in Vor- und Nachname getrennt',
    consents: {
      subscribed: 'Abonniert: ja, nein oder ein Status',
      optOut: 'Abgemeldet: „ja“ heißt keine E-Mails',
      bounced: 'Unzustellbar: „ja“ heißt, die Adresse funktioniert nicht',
      complained: 'Als Spam gemeldet: „ja“ heißt keine E-Mails',
    },
    evidence: {
      consentTime: 'Zeitpunkt der Einwilligung',
      consentIp: 'IP-Adresse bei der Einwilligung',
      consentSource: 'Quelle der Einwilligung',
    },
    signatures: {
      title: 'Unterschriften importieren',
      text: (petition) =>
        `Laden Sie eine CSV-Datei mit Personen hoch, die „${petition}“ auf Papier oder in einem anderen System unterschrieben haben. In der ersten Zeile müssen die Spaltennamen stehen. Jede Zeile braucht eine E-Mail-Adresse. Importiert wird erst, wenn Sie die Spalten geprüft haben.`,
      keep: 'Angaben vorhandener Kontakte beibehalten',
      columns: {
        signedAt: 'Zeitpunkt der Unterschrift',
        comment: 'Kommentar',
        source: 'Quelle',
        status: 'Status: nur bestätigte Unterschriften werden importiert',
      },
      added: 'Hinzugefügte Unterschriften',
      view: 'Unterschriften ansehen',
    },
    again: 'Andere Datei wählen',
    consent: 'Einwilligung bei Zeilen ohne Angabe',
    agreed: 'Diese Personen haben eingewilligt, E-Mails von uns zu erhalten',
    agreedHint:
      'Wenn Sie dieses Feld nicht ankreuzen, werden diese Personen ohne Abonnement importiert. Bei vorhandenen Kontakten ändert sich nichts. Wer sich abgemeldet hat, wird nur dann wieder angemeldet, wenn die Zeile eine spätere Einwilligung nachweist.',
    start: (n) => `${counted('de-DE', n, 'Zeile', 'Zeilen')} importieren`,
    going: 'Import läuft',
    goingText: 'Sie können diese Seite verlassen. Der Import läuft weiter.',
    done: 'Import abgeschlossen',
    failed: 'Import vorzeitig beendet',
    failedText:
      'Alle bisher importierten Daten bleiben erhalten. Um fortzufahren, importieren Sie dieselbe Datei noch einmal. Niemand wird doppelt angelegt.',
    lines: 'Verarbeitete Zeilen',
    created: 'Neu',
    updated: 'Aktualisiert',
    unchanged: 'Unverändert',
    wrongLines: 'Nicht importiert',
    line: 'Zeile',
    why: 'Grund',
    taken: 'Ein Kontakt mit dieser Adresse ist bereits vorhanden und weicht ab. Er wurde nicht geändert',
    takenAndListed:
      'Ein Kontakt mit dieser Adresse ist bereits vorhanden und weicht ab. Er wurde zur Liste hinzugefügt und sonst nicht geändert',
    overlong:
      'Diese Zeile hat nicht so viele Zellen wie die Kopfzeile. Prüfen Sie, ob eine Zelle geteilt wurde',
    unreadable: 'Diese Zeile ist nicht lesbar. Prüfen Sie die Anführungszeichen und Sonderzeichen',
    goneFailure:
      'Die Liste oder die Petition wurde gelöscht, oder die Person, die den Import gestartet hat, gehört nicht mehr zum Team.',
    roleFailure: 'Die Person, die den Import gestartet hat, darf keine Kontakte mehr importieren.',
    begun: 'Letzte Importe',
    cancel: 'Import abbrechen',
    unnamed: 'Import über die API',
    table: 'Datei',
    when: 'Gestartet',
    states: {
      QUEUED: 'Wartet',
      RUNNING: 'Läuft',
      DONE: 'Abgeschlossen',
      FAILED: 'Vorzeitig beendet',
      CANCELLED: 'Abgebrochen',
    },
    more: (n) => `und ${counted('de-DE', n, 'weitere Zeile', 'weitere Zeilen')}`,
    download: (n) =>
      `${counted('de-DE', n, 'nicht importierte Zeile', 'nicht importierte Zeilen')} herunterladen (CSV)`,
    toContacts: 'Kontakte ansehen',
    undo: {
      open: 'Import rückgängig machen',
      title: 'Diesen Import rückgängig machen?',
      text: (deleted, kept) =>
        [
          deleted === 1
            ? '1 Kontakt, den dieser Import angelegt hat, wird gelöscht.'
            : `${formatNumber('de-DE', deleted)} Kontakte, die dieser Import angelegt hat, werden gelöscht.`,
          ...(kept === 0
            ? []
            : [
                kept === 1
                  ? '1 Kontakt wurde seitdem geändert und bleibt erhalten.'
                  : `${formatNumber('de-DE', kept)} Kontakte wurden seitdem geändert und bleiben erhalten.`,
              ]),
          UNDO_TEXT,
        ].join(' '),
      textOfMany: (created) =>
        `Die ${counted('de-DE', created, 'Kontakt', 'Kontakte')}, die dieser Import angelegt hat, werden gelöscht. Ausgenommen sind Kontakte, die seitdem geändert wurden. ${UNDO_TEXT}`,
      button: (n) => `${counted('de-DE', n, 'Kontakt', 'Kontakte')} löschen`,
      states: {
        QUEUED: 'Rückgängigmachen wartet',
        RUNNING: 'Import wird rückgängig gemacht',
        DONE: 'Import rückgängig gemacht',
        FAILED: 'Import nur teilweise rückgängig gemacht',
      },
      label: 'Geprüfte Kontakte',
      failedText:
        'Die Person oder der API-Schlüssel hat die Berechtigung verloren, bevor alle Kontakte gelöscht waren. Um fortzufahren, machen Sie den Import noch einmal rückgängig.',
      deleted: 'Gelöscht',
      kept: 'Behalten',
      keptHint: 'Diese Kontakte wurden seit dem Import geändert oder waren schon gelöscht.',
    },
  },
  done: {
    created: 'Kontakt angelegt.',
    changed: 'Kontakt gespeichert.',
    erased: 'Kontakt endgültig gelöscht.',
    merged: 'Kontakte zusammengeführt.',
    undone: 'Der Import wird rückgängig gemacht.',
    grouped: 'Kontakt hinzugefügt.',
  },
};
