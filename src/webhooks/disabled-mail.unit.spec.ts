import { writeDisabledMail } from './write-disabled-mail.js';

const webhook = {
  brand: { colour: null, logo: null, name: 'Rivers' },
  webhookId: '01990a6e-1111-7000-8000-000000000001',
  url: 'https://rivers.example/hook',
  failingSince: new Date('2026-11-20T09:30:00Z'),
};

it.each([
  ['en', 'Webhook disabled for Rivers', '20 November 2026'],
  ['de', 'Ein Webhook von Rivers wurde deaktiviert', '20. November 2026'],
  ['fr', 'Webhook désactivé\u00A0: Rivers', '20 novembre 2026'],
  ['es', 'Se ha desactivado un webhook de Rivers', '20 de noviembre de 2026'],
  ['pl', 'Webhook disabled for Rivers', '20 November 2026'],
])('uses the language of the organization: %s', (language, subject, since) => {
  const mail = writeDisabledMail(language, webhook);
  expect(mail.subject).toBe(subject);
  for (const part of [since, '9:30 UTC', webhook.url, webhook.webhookId, 'webhook.resume-webhook'])
    expect(mail.text).toContain(part);
});
