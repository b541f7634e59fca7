"""Hosts that are not there: the ipmi hardware type with the interfaces that a BareMetal
Operator asks for. They take their time (TIMES).

Ironic (29) loads this module because the list of entry points that Go writes beside it
names it (hardware.go)."""

import random
import time

from ironic.common import states
from ironic.drivers import base
from ironic.drivers import ipmi
from ironic.drivers.modules import fake
from ironic.drivers.modules import inspect_utils
from ironic.drivers.modules import noop
from ironic.drivers.modules import noop_mgmt


# Seconds, from and to.
TIMES = {'inspect': (3, 5), 'clean': (1.5, 2.5), 'deploy': (5, 6.5)}


def take(what):
    time.sleep(random.uniform(*TIMES[what]))


class Power(fake.FakePower):
    def get_power_state(self, task):
        return task.node.power_state or states.POWER_OFF

    def reboot(self, task, timeout=None):
        task.node.power_state = states.POWER_ON


class Management(fake.FakeManagement):
    pass


class Boot(fake.FakeBoot):
    capabilities = ['ipxe_boot', 'pxe_boot', 'ramdisk_boot']

    def validate_inspection(self, task):
        pass

    def validate_rescue(self, task):
        pass


class Direct(fake.FakeDeploy):
    @base.deploy_step(priority=100)
    def deploy(self, task):
        take('deploy')

    @base.clean_step(priority=10)
    def erase(self, task):
        take('clean')

    def prepare(self, task):
        pass

    def clean_up(self, task):
        pass

    def take_over(self, task):
        pass

    def tear_down(self, task):
        return states.DELETED


# Ironic tells interfaces apart by their class.
class CustomAgent(Direct):
    pass


class Ramdisk(Direct):
    pass


class Inspect(fake.FakeInspect):
    def inspect_hardware(self, task):
        take('inspect')
        inspect_utils.store_inspection_data(task.node, inventory(task.node), {}, task.context)
        return states.MANAGEABLE


class Vendor(base.VendorInterface):
    def get_properties(self):
        return {}

    def validate(self, task, method=None, **kwargs):
        pass


class Hardware(ipmi.IPMIHardware):
    supported_boot_interfaces = [Boot]
    supported_deploy_interfaces = [Direct, Ramdisk, CustomAgent]
    supported_inspect_interfaces = [Inspect, noop.NoInspect]
    supported_management_interfaces = [Management, noop_mgmt.NoopManagement]
    supported_power_interfaces = [Power]
    supported_vendor_interfaces = [Vendor, noop.NoVendor]


def inventory(node):
    """What the ramdisk would have found: one network card, which is no host's boot card
    (the operator makes a port of it), one disk, no two hosts alike."""
    mac = '52:55:%02x:%02x:%02x:%02x' % tuple(node.id.to_bytes(4, 'big'))
    return {
        'bmc_address': '192.0.2.2',
        'boot': {'current_boot_mode': 'uefi', 'pxe_interface': mac},
        'cpu': {'architecture': 'x86_64', 'count': 4, 'flags': [], 'frequency': '2000',
                'model_name': 'pretended'},
        'disks': [{'by_path': None, 'hctl': '0:0:0:0', 'model': 'pretended', 'name': '/dev/sda',
                   'rotational': False, 'serial': str(node.id), 'size': 100 << 30,
                   'vendor': 'pretended', 'wwn': None}],
        'hostname': (node.name or node.uuid).replace('~', '-'),
        'interfaces': [{'has_carrier': True, 'ipv4_address': '192.0.2.1', 'mac_address': mac,
                        'name': 'eth0', 'product': '0x0001', 'speed_mbps': 1000,
                        'vendor': '0x1af4'}],
        'memory': {'physical_mb': 8192, 'total': 8 << 30},
        'system_vendor': {'firmware': {'build_date': '01/01/2026', 'vendor': 'pretended',
                                       'version': '1'},
                          'manufacturer': 'pretended', 'product_name': 'pretended',
                          'serial_number': str(node.id)},
    }
