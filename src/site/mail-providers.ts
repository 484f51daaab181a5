/** Where people read their email, and the domains of the provider. `webmail` is null if it has no known address. */
type Provider = { name: string; webmail: string | null; domains: readonly string[] };

const provider = (name: string, webmail: string | null, domains: string): Provider => ({
  name,
  webmail,
  domains: domains.split(' '),
});

/** Common providers where people speak the languages of the site. Similar real domains are listed so that they are not taken for typos. */
const PROVIDERS: readonly Provider[] = [
  provider('Gmail', 'https://mail.google.com/', 'gmail.com googlemail.com'),
  provider(
    'Outlook',
    'https://outlook.live.com/mail/',
    'outlook.com outlook.at outlook.be outlook.de outlook.es outlook.fr outlook.it hotmail.com hotmail.be ' +
      'hotmail.ch hotmail.co.uk hotmail.de hotmail.es hotmail.fr hotmail.it hotmail.nl live.com live.at live.be ' +
      'live.ca live.co.uk live.de live.fr live.it live.nl msn.com',
  ),
  provider(
    'Yahoo',
    'https://mail.yahoo.com/',
    'yahoo.com yahoo.ca yahoo.co.in yahoo.co.uk yahoo.com.ar yahoo.com.au yahoo.com.br yahoo.com.mx yahoo.de ' +
      'yahoo.es yahoo.fr yahoo.ie yahoo.in yahoo.it yahoo.se ymail.com rocketmail.com',
  ),
  provider('iCloud', 'https://www.icloud.com/mail/', 'icloud.com me.com mac.com'),
  provider('AOL', 'https://mail.aol.com/', 'aol.com aol.co.uk aol.de aol.fr aim.com'),
  provider(
    'GMX',
    'https://www.gmx.net/',
    'gmx.de gmx.net gmx.at gmx.ch gmx.biz gmx.eu gmx.info gmx.li gmx.org',
  ),
  provider('GMX', 'https://www.gmx.com/', 'gmx.com gmx.co.uk gmx.us'),
  provider('GMX', 'https://www.gmx.es/', 'gmx.es'),
  provider('GMX', 'https://www.gmx.fr/', 'gmx.fr'),
  provider('WEB.DE', 'https://web.de/', 'web.de email.de'),
  provider('mail.com', 'https://www.mail.com/', 'mail.com email.com'),
  provider('mail.de', 'https://mail.de/', 'mail.de'),
  provider('T-Online', 'https://email.t-online.de/', 't-online.de magenta.de'),
  provider('freenet', 'https://email.freenet.de/', 'freenet.de'),
  provider('Posteo', 'https://posteo.de/', 'posteo.de posteo.at posteo.ch posteo.eu posteo.net posteo.org'),
  provider('mailbox.org', 'https://mailbox.org/', 'mailbox.org'),
  provider('Orange', 'https://messagerie.orange.fr/', 'orange.fr wanadoo.fr'),
  provider('Free', 'https://webmail.free.fr/', 'free.fr'),
  provider('La Poste', 'https://www.laposte.net/', 'laposte.net'),
  provider('SFR', 'https://webmail.sfr.fr/', 'sfr.fr neuf.fr cegetel.net club-internet.fr'),
  provider('Proton Mail', 'https://mail.proton.me/', 'proton.me protonmail.com pm.me'),
  provider('Tuta', 'https://app.tuta.com/', 'tuta.com tuta.io tutanota.com tutanota.de tutamail.com'),
  provider('Fastmail', 'https://app.fastmail.com/', 'fastmail.com fastmail.fm'),
  provider(
    'other providers',
    null,
    'arcor.de online.de bbox.fr orange.es orange.com telefonica.net terra.es ya.com movistar.es bluewin.ch ' +
      'btinternet.com sky.com virginmedia.com talktalk.net comcast.net verizon.net att.net cox.net hey.com ' +
      'mail.ru ya.ru yandex.ru yandex.com zoho.com qq.com riseup.net',
  ),
];

const PROVIDER_OF = new Map(PROVIDERS.flatMap((one) => one.domains.map((domain) => [domain, one] as const)));

/** The webmail of an address; undefined if its provider is not known. */
export function webmailOf(email: string): { name: string; url: string } | undefined {
  const { name, webmail } = PROVIDER_OF.get(domainOf(email)) ?? {};
  return name !== undefined && webmail ? { name, url: webmail } : undefined;
}

/**
 * The address that was probably meant, if its domain is one typo away from a common one: a missing, additional or wrong
 * character, or two in the wrong order.
 *
 * @returns undefined if the domain is common, or not similar to one.
 */
export function probablyMeant(email: string): string | undefined {
  const typed = domainOf(email);
  if (PROVIDER_OF.has(typed)) return undefined;
  const meant = [...PROVIDER_OF.keys()].find((domain) => isTypoOf(typed, domain));
  return meant && `${email.slice(0, email.lastIndexOf('@'))}@${meant}`;
}

function isTypoOf(typed: string, meant: string): boolean {
  const same = [...typed].findIndex((character, index) => character !== meant[index]);
  const [one, other] = same < 0 ? ['', meant.slice(typed.length)] : [typed.slice(same), meant.slice(same)];
  return (
    one.slice(1) === other ||
    one === other.slice(1) ||
    one.slice(1) === other.slice(1) ||
    one.slice(1, 2) + one.slice(0, 1) + one.slice(2) === other
  );
}

function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase();
}
