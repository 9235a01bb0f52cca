// Files of hwloc's, as small as they can be.
#pragma once

#include <string>

namespace topology_test {

// Version 1 of the format: sockets, and a matrix of latencies inside the object.
inline const std::string old_format = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
  <object type="Machine" os_index="0" cpuset="0x0000000f" allowed_cpuset="0x0000000f">
    <info name="HostName" value="old"/>
    <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
      <latency value="1.000000"/><latency value="2.000000"/><latency value="2.000000"/><latency value="1.000000"/>
    </distances>
    <object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="1024">
      <object type="Socket" os_index="0" cpuset="0x00000003">
        <object type="Cache" cpuset="0x00000003" cache_size="4096" depth="2">
          <object type="Core" os_index="0" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
          <object type="Core" os_index="1" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object>
        </object>
      </object>
    </object>
    <object type="NUMANode" os_index="1" cpuset="0x0000000c" local_memory="1024">
      <object type="Socket" os_index="1" cpuset="0x0000000c">
        <object type="Core" os_index="0" cpuset="0x4"><object type="PU" os_index="2" cpuset="0x4"/></object>
        <object type="Core" os_index="1" cpuset="0x8"><object type="PU" os_index="3" cpuset="0x8"/></object>
      </object>
    </object>
  </object>
</topology>)";

// Version 2 of the format: a device of each kind, one processor that isn't allowed.
inline const std::string devices = R"(<topology version="2.0"><object type="Machine" allowed_cpuset="0x1" gp_index="1">
  <object type="NUMANode" os_index="0" cpuset="0x3" gp_index="2" local_memory="4096"/>
  <object type="Core" gp_index="3"><object type="PU" os_index="0" gp_index="4"/></object>
  <object type="Core" gp_index="5"><object type="PU" os_index="1" gp_index="6"/></object>
  <object type="Bridge" bridge_type="0-1" gp_index="7">
    <object type="PCIDev" gp_index="8" pci_busid="0000:01:00.0" pci_type="0302 [10de:20b0] [0:0] 00" pci_link_speed="31.5">
      <object type="OSDev" name="nvml0" osdev_type="1" gp_index="9"/></object>
    <object type="PCIDev" gp_index="10" pci_busid="0000:02:00.0" pci_type="0302 [10de:20b0] [0:0] 00">
      <object type="OSDev" name="nvml1" osdev_type="1" gp_index="11"/></object>
    <object type="PCIDev" gp_index="12" pci_busid="0000:03:00.0" pci_type="0207 [15b3:101b] [0:0] 00" pci_link_speed="31.5">
      <object type="OSDev" name="ib0" osdev_type="2" gp_index="13"/>
      <object type="OSDev" name="mlx5_0" osdev_type="3" gp_index="14"/></object>
    <object type="PCIDev" gp_index="15" pci_busid="0000:04:00.0" pci_type="0300 [1a03:2000] [0:0] 00">
      <object type="OSDev" name="card0" osdev_type="1" gp_index="16"/></object>
    <object type="PCIDev" gp_index="17" pci_busid="0000:05:00.0" pci_type="0108 [8086:0a54] [0:0] 00">
      <object type="OSDev" name="nvme0n1" osdev_type="0" gp_index="18"/></object>
  </object></object>
  <distances2 type="OSDev" nbobjs="2" kind="9" name="NVLinkBandwidth" indexing="gp">
    <indexes length="5">9 11 </indexes><u64values length="9">0 50000 50000 0 </u64values></distances2>
  <memattr name="Bandwidth" flags="5"><memattr_value target_obj_gp_index="2" target_obj_type="NUMANode" value="100000"
    initiator_cpuset="0x1"/></memattr>
</topology>)";

// NCCL's: two processors; a switch with two GPUs and an interface of two ports; an NVSwitch, a GPU that the file leaves out, a link to a processor.
inline const std::string nccl = R"(<system version="2">
  <!-- <topology> -->
  <cpu numaid="0" affinity="00000001,0000000f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:12:00.0" count="2" tclass="0x030200"/>
          <nvlink target="0000:c1:00.0" count="3" tclass="0x068000"/>
          <nvlink target="0000:c2:00.0" count="3" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:12:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:11:00.0" count="2" tclass="0x030200"/>
          <nvlink target="0000:99:00.0" count="2" tclass="0x030200"/>
          <nvlink target="0000:c1:00.0" count="6" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:13:00.0" class="0x020000" link_speed="8 GT/s" link_width="8">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
          <net name="mlx5_1" dev="1" speed="100000" port="2" guid="0x2" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="00000006,00000000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:21:00.0" class="0x030200" link_speed="2.5 GT/s PCIe" link_width="4">
      <gpu dev="2" sm="70"><nvlink target="ffff:ff:ff" count="1" tclass="0x068001"/></gpu>
    </pci>
    <nic><net name="eth0" dev="2" speed="10000"/></nic>
  </cpu>
</system>
)";

}  // namespace topology_test
