import { html } from '#libs/pages';
import { notificationsFor, settingsIdOf, type SettingsRecord } from '../../notifications/index.js';
import { ActivityLog } from '../activity-log.js';
import { type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import { CheckField, FormOf } from '../parts.js';

/** The emails that the person gets about this organization. */
export const notificationPages: PageDefinition[] = [
  {
    path: 'notifications',
    needs: 'notification:read',
    changes: 'notification:write',
    show: async (context) => {
      const { words, form } = context;
      const { text, button, names } = words.notifications;
      const offered = offeredTo(context);
      const { memberId } = whose(context);
      const [settings, past] = await Promise.all([
        context.api.run<SettingsRecord>('notification.get-settings', { memberId }),
        ActivityLog(context, settingsIdOf(memberId)),
      ]);
      const fields = offered.map((name) =>
        CheckField(form, { name, label: names[name], isTicked: settings[name] }),
      );
      return context.view.page({
        section: 'notifications',
        title: words.sections.notifications,
        content: html`<div class="text">
          <p class="lead">${text}</p>
          ${FormOf(form, { fields: [html`<div class="checks">${fields}</div>`], button })}
          ${settings.version === 0 ? null : past}
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
