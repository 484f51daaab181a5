import { html } from '#libs/pages';
import { notificationsFor, type SettingsRecord } from '../../notifications/index.js';
import { type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import { CheckField, FormOf } from '../parts.js';

/** The emails that the person gets about this organization. */
export const notificationPages: PageDefinition[] = [
  {
    path: 'notifications',
    needs: null,
    show: async (context) => {
      const { words, form } = context;
      const { text, nothing, button, names } = words.notifications;
      const offered = offeredTo(context);
      const settings = await context.api.run<SettingsRecord>('notification.get-settings', whose(context));
      const fields = offered.map(
        (name) => html`<p>${CheckField(form, { name, label: names[name], isTicked: settings[name] })}</p>`,
      );
      return context.view.page({
        section: 'notifications',
        title: words.sections.notifications,
        content: html`<div class="text">
          ${
            offered.length === 0
              ? html`<p class="lead">${nothing}</p>`
              : html`<p class="lead">${text}</p>${FormOf(form, { fields, button })}`
          }
        </div>`,
      });
    },
    act: async (context) => {
      const chosen = offeredTo(context).map((name) => [name, context.form.get(name) === 'true'] as const);
      await context.api.run('notification.update-settings', {
        ...whose(context),
        ...Object.fromEntries(chosen),
      });
      return { to: 'notifications', done: 'notifications.saved' };
    },
  },
];

function offeredTo({ person }: PageContext) {
  return notificationsFor(person.organization.role);
}

function whose({ person }: PageContext) {
  return { memberId: person.organization.memberId };
}
