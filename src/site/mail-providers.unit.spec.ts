import { probablyMeant, webmailOf } from './mail-providers.js';

it.each(
  Object.entries({
    'gmail.com':
      'gmial.com gmal.com gmail.con gmail.co gmail.cm gmail.om gmai.com gmaill.com gnail.com gmail.comm gmailcom',
    'googlemail.com': 'googlmail.com googelmail.com',
    'hotmail.com': 'hotmai.com hotmail.con hotnail.com',
    'hotmail.de': 'hotmial.de',
    'hotmail.fr': 'hotmal.fr',
    'yahoo.com': 'yaho.com yahoo.con',
    'outlook.com': 'outlok.com outlook.con',
    'icloud.com': 'iclod.com icloud.co',
    'gmx.de': 'gmx.dee gmx.d gxm.de',
    'web.de': 'wed.de web.ed web.d',
    't-online.de': 't-onlin.de tonline.de',
    'orange.fr': 'orage.fr orange.f',
    'laposte.net': 'lapost.net',
    'protonmail.com': 'protonmial.com',
  }),
)('the domain %s is proposed for %s', (meant, typos) => {
  for (const typo of typos.split(' '))
    expect([typo, probablyMeant(`Ada.L@${typo}`)]).toEqual([typo, `Ada.L@${meant}`]);
});

it.each([
  'gmail.com GMAIL.com mail.com mail.de mail.ru email.de email.com gmx.li gmx.us posteo.net tuta.com hey.com cox.net',
  'online.de live.be yahoo.se hotmail.it yahoo.com.br orange.es wdr.de bmw.de ard.de me.de wwf.de spd.de sfr.com att.com',
  'rivers.example.org example.com greenpeace.org gov.uk mit.edu tum.de uni-koeln.de bund.de free.com telekom.de a1.net',
  'libero.it wp.pl seznam.cz ziggo.nl telenet.be numericable.fr mailbox.de mailfence.com infomaniak.ch acm.org gmail',
])('no other domain is proposed for %s', (domains) => {
  for (const domain of domains.split(' '))
    expect([domain, probablyMeant(`ada@${domain}`)]).toEqual([domain, undefined]);
});

it('names the webmail of known providers', () => {
  expect(webmailOf('ada@Googlemail.com')).toEqual({ name: 'Gmail', url: 'https://mail.google.com/' });
  expect([webmailOf('ada@qq.com'), webmailOf('ada@example.org')]).toEqual([undefined, undefined]);
});
