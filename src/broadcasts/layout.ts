import { localeIn } from '#locales';
import { FONT } from '#libs/mail';
import { html, trusted } from '#libs/pages';
import { type Rendered } from './merge-fields.js';

/** The sender, as shown in the footer of each message. */
export type Sender = { name: string; postalAddress: string | null; language: string };

/** Dark mode for email clients that support it. All others show the inline styles. */
const STYLE = `
:root{color-scheme:light dark;supported-color-schemes:light dark}
img{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){
.page{background-color:#16181d!important}
.sheet{background-color:#1f2229!important;color:#e8eaed!important}
.sheet a{color:#8ab4f8!important}
.foot,.foot a{color:#a6abb5!important}
}
@media (max-width:640px){.sheet{padding:20px!important}}`;

/** The HTML document around the content. Tables and inline styles work in all email clients. */
export function htmlOf(
  { subject, preheader, html: content }: Rendered,
  { name, postalAddress, language }: Sender,
  unsubscribeUrl: string,
): string {
  const { language: spoken, emails } = localeIn(language);
  const words = emails.broadcastFooter;
  const lines = [name, ...(postalAddress ?? '').split(/\r?\n/)].filter((line) => line !== '');
  const hidden = 'display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all';
  const table = trusted('role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"');
  return String(
    html`<!doctype html>
      <html lang="${spoken}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width,initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <meta name="supported-color-schemes" content="light dark" />
          <title>${subject}</title>
          <style>${trusted(STYLE)}</style>
        </head>
        <body class="page" style="margin:0;padding:0;background-color:#f3f4f6">
          ${preheader === '' ? null : html`<div style="${hidden}">${preheader}</div>`}
          <table class="page" ${table} style="background-color:#f3f4f6">
            <tr>
              <td align="center" style="padding:24px 8px">
                <table ${table} style="max-width:600px">
                  <tr>
                    <td
                      class="sheet"
                      style="background-color:#ffffff;color:#1f2328;padding:32px;border-radius:8px;${FONT};font-size:16px;line-height:1.5"
                    >
                      ${trusted(content)}
                    </td>
                  </tr>
                  <tr>
                    <td
                      class="foot"
                      style="padding:24px 32px;color:#57606a;${FONT};font-size:14px;line-height:1.5"
                    >
                      <p style="margin:0 0 8px">${words.why(name)}</p>
                      <p style="margin:0 0 8px">
                        ${lines.map((line, n) => (n === 0 ? line : html`<br />${line}`))}
                      </p>
                      <p style="margin:0">
                        <a href="${unsubscribeUrl}" style="color:#57606a;text-decoration:underline">${words.unsubscribe}</a>
                      </p>
                    </td>
                  </tr>
                </table>
              </td>
            </tr>
          </table>
        </body>
      </html>
`,
  );
}

export function textOf(
  { text }: Rendered,
  { name, postalAddress, language }: Sender,
  unsubscribeUrl: string,
): string {
  const words = localeIn(language).emails.broadcastFooter;
  // Email clients recognize the end of a message by this line (RFC 3676, section 4.3).
  const foot = ['-- ', words.why(name), name, ...(postalAddress === null ? [] : [postalAddress])];
  return `${text.trim()}\n\n${foot.join('\n')}\n\n${words.unsubscribe}: ${unsubscribeUrl}\n`;
}
