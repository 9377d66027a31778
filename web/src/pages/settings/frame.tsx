// The tabs of the settings; each tab is shown to those who may use it.
import type { ComponentChildren } from 'preact';
import './settings.css';
import { session } from '../../api/client';
import { allows, type Role } from '../../api/contract';
import { place } from '../../live/router';
import { Empty } from '../../ui/basic';

const tabs: { path: string; title: string; role: Role }[] = [
  { path: '/ui/settings', title: 'This browser', role: 'viewer' },
  { path: '/ui/settings/api-keys', title: 'API keys', role: 'admin' },
  { path: '/ui/settings/signing-keys', title: 'Signing keys', role: 'admin' },
  { path: '/ui/settings/namespaces', title: 'Namespaces and retention', role: 'viewer' },
];

export function SettingsFrame({ role, actions, children }: { role: Role; actions?: ComponentChildren; children: ComponentChildren }) {
  const allowed = allows(session.value, role);
  return (
    <div class="page">
      <div class="page-head"><h1 class="grow">Settings</h1>{allowed ? actions : null}</div>
      <nav class="tabs" aria-label="Settings">
        {tabs.filter((tab) => allows(session.value, tab.role)).map((tab) => <a key={tab.path} href={tab.path} aria-current={place.value.path === tab.path ? 'page' : undefined}>{tab.title}</a>)}
      </nav>
      {allowed ? children : <Empty title="Not for this key"><p>This needs the role {role}; you are signed in with the role {session.value?.role}.</p></Empty>}
    </div>
  );
}
