import { type Accent } from './colours.js';
import { html, type Html } from './html.js';

/**
 * A button that every mail program shows: a table cell has the colour and, for Outlook for Windows, which ignores the
 * space inside links, the space.
 *
 * @param colours of the background and of the text, as `#rrggbb`.
 */
export function mailButton(url: Html | string, text: Html | string, { accent, onAccent }: Accent): Html {
  return html`<table
    class="action"
    role="presentation"
    cellpadding="0"
    cellspacing="0"
    border="0"
    style="margin:24px 0;border-collapse:separate"
  >
    <tr>
      <td
        class="action"
        align="center"
        bgcolor="${accent}"
        style="border-radius:6px;background-color:${accent};mso-padding-alt:12px 24px"
      >
        <a
          href="${url}"
          style="display:inline-block;padding:12px 24px;border-radius:6px;color:${onAccent};font-weight:600;text-decoration:none"
          >${text}</a
        >
      </td>
    </tr>
  </table>`;
}
