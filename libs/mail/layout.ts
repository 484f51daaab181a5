import { html, type Html, trusted } from '#libs/pages';

/** The parts in which emails differ. The content is shown above the foot. */
export type MailParts = {
  /** As in HTML's `lang`. */
  language: string;
  title: string;
  /** Mail programs show it after the subject in their lists. Empty: the beginning of the content. */
  preheader?: string;
  content: Html;
  foot: Html;
};

const FONT = 'font-family:-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif';

/** Dark mode for email clients that support it. All others show the inline styles. */
const STYLE = `
:root{color-scheme:light dark;supported-color-schemes:light dark}
img{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){
.page{background-color:#16181d!important}
.sheet{background-color:#1f2229!important;color:#e8eaed!important}
.sheet a{color:#8ab4f8!important}
.sheet a.action{color:#ffffff!important}
.foot,.foot a{color:#a6abb5!important}
}
@media (max-width:640px){.sheet{padding:20px!important}}`;

/** The HTML document of every email. Tables and inline styles work in all email clients. */
export function mailDocument({ language, title, preheader = '', content, foot }: MailParts): string {
  const hidden = 'display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all';
  const table = trusted('role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"');
  return String(
    html`<!doctype html>
      <html lang="${language}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width,initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <meta name="supported-color-schemes" content="light dark" />
          <title>${title}</title>
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
                      ${content}
                    </td>
                  </tr>
                  <tr>
                    <td
                      class="foot"
                      style="padding:24px 32px;color:#57606a;${FONT};font-size:14px;line-height:1.5"
                    >
                      ${foot}
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

/** Lines of text below each other. */
export function linesOf(lines: readonly string[]): Html {
  return html`${lines.map((line, n) => (n === 0 ? line : html`<br />${line}`))}`;
}
